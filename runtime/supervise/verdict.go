package supervise

import "syscall"

// Verdict is why a process ended, in one word, for those who count; Exit.Cause is for people.
type Verdict string

const (
	Left        Verdict = "left"       // it was to leave: for a successor, or with the server
	FailedSetup Verdict = "setup"      // the model's setup raised an exception, or took too long
	Exited      Verdict = "exit"       // it ended itself
	Signaled    Verdict = "signal"     // a signal that was not SIGKILL
	Killed      Verdict = "kill"       // a SIGKILL of somebody else's, or, where the kernel does not say, for want of memory
	OutOfMemory Verdict = "oom"        // the kernel's SIGKILL, for want of memory
	Hung        Verdict = "hang"       // it gave no sign of life
	Stubborn    Verdict = "cancel"     // a cancelled prediction did not end
	Protocol    Verdict = "protocol"   // what it said, or that it said no more, could not be understood
	Unkillable  Verdict = "unkillable" // it was killed and did not end
	LostGPU     Verdict = "gpu"        // its GPU context was lost
	Unclear     Verdict = "unknown"    // its exit status could not be had
)

// Verdicts are all that there are.
func Verdicts() []Verdict {
	return []Verdict{Left, FailedSetup, Exited, Signaled, Killed, OutOfMemory, Hung, Stubborn, Protocol, Unkillable, LostGPU, Unclear}
}

// Verdict judges a process that nobody had asked to leave.
func (e Exit) Verdict() Verdict {
	switch {
	case e.Stuck > 0:
		return Unkillable
	case e.Unknown != nil:
		return Unclear
	case e.Signal == 0:
		return Exited
	case e.Signal != syscall.SIGKILL:
		return Signaled
	case e.Killed != "":
		return e.Fault
	case e.Shortage == ShortageYes:
		return OutOfMemory
	default:
		return Killed
	}
}

// verdict judges the process, which has ended. One that was asked to leave and broke down over it has not left.
func (l *liveWorker) verdict() Verdict {
	exit := l.process.exit
	leaving := l.asked || l.farewell != nil
	switch {
	case exit.Stuck > 0:
		return Unkillable
	case l.farewell != nil && l.farewell.fault:
		return LostGPU
	case l.failed != "":
		return FailedSetup
	case leaving && exit.Unknown == nil && exit.Signal == 0 && exit.Code == 0:
		return Left
	default:
		return exit.Verdict()
	}
}
