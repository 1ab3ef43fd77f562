package supervise

import "syscall"

// ExitCause is why a process ended, as metrics count it. Exit.Describe explains it to people.
type ExitCause string

const (
	CauseLeft        ExitCause = "left"   // as requested: for a successor, or with the server
	CauseSetupFailed ExitCause = "setup"  // the model's setup raised an exception, or took too long
	CauseExited      ExitCause = "exit"   // it ended itself
	CauseSignaled    ExitCause = "signal" // a signal other than SIGKILL
	// SIGKILL by the model's code, another process or a limit, or by the kernel where it does not say why
	CauseKilled        ExitCause = "kill"
	CauseOutOfMemory   ExitCause = "oom"        // SIGKILL by the kernel, for lack of memory
	CauseHung          ExitCause = "hang"       // it answered no pings
	CauseCancelTimeout ExitCause = "cancel"     // a canceled prediction did not end in time
	CauseProtocol      ExitCause = "protocol"   // it sent an invalid frame, or closed a channel
	CauseUnkillable    ExitCause = "unkillable" // it was killed and did not end
	CauseGPULost       ExitCause = "gpu"        // its GPU context was lost
	CauseUnknown       ExitCause = "unknown"    // its exit status could not be read
)

func ExitCauses() []ExitCause {
	return []ExitCause{
		CauseLeft, CauseSetupFailed, CauseExited, CauseSignaled, CauseKilled, CauseOutOfMemory,
		CauseHung, CauseCancelTimeout, CauseProtocol, CauseUnkillable, CauseGPULost, CauseUnknown,
	}
}

// Cause classifies the exit of a process that was not asked to leave.
func (e Exit) Cause() ExitCause {
	switch {
	case e.Stuck > 0:
		return CauseUnkillable
	case e.Unknown != nil:
		return CauseUnknown
	case e.Signal == 0:
		return CauseExited
	case e.Signal != syscall.SIGKILL:
		return CauseSignaled
	case e.Killed != "":
		return e.Fault
	case e.Shortage == ShortageYes:
		return CauseOutOfMemory
	default:
		return CauseKilled
	}
}

// exitCause classifies the exit of this worker. A worker that crashes while it leaves has not left.
func (w *worker) exitCause() ExitCause {
	exit := w.exit()
	leaving := w.stopping || w.retirement != nil
	switch {
	case exit.Stuck > 0:
		return CauseUnkillable
	case w.retirement != nil && w.retirement.fault != "":
		return w.retirement.fault
	case w.setup.failure != "":
		return CauseSetupFailed
	case leaving && exit.Unknown == nil && exit.Signal == 0 && exit.Code == 0:
		return CauseLeft
	default:
		return exit.Cause()
	}
}
