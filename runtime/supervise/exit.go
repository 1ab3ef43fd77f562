package supervise

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Exit is how a worker process ended.
type Exit struct {
	Signal   syscall.Signal // 0 means it exited by itself
	Code     int            // its exit code, if it did
	Killed   string         // why this server killed it; "" if it did not
	Fault    ExitCause      // the same, classified
	Shortage Shortage       // whether a SIGKILL by another was for lack of memory
	Limit    int64          // of memory, in bytes; 0 if none is known
	CPULimit time.Duration  // RLIMIT_CPU, if the process has used most of it; otherwise 0
	CPUUsed  time.Duration
	Lowered  string        // its limits that are below the server's, or ""
	Stuck    time.Duration // how long after its end began it was given up; 0 if it has ended
	Lacked   string        // what the system was short of before any code of the model ran, or ""
	Unknown  error         // why its exit status could not be read
}

// Arguments of Exit.Describe: what the worker was doing when it ended.
const (
	duringStart   = "before its setup began"
	duringSetup   = "during setup"
	duringPredict = "while running this prediction"
	duringIdle    = "between predictions"
)

func (e Exit) Describe(during string) string {
	switch {
	case e.Stuck > 0 && e.Killed != "":
		return fmt.Sprintf("worker killed by the server %s: %s; it had not ended after %s and was given up: "+
			"it is frozen, or waits in a driver", during, e.Killed, e.Stuck)
	case e.Stuck > 0:
		return fmt.Sprintf("worker ended %s; its process had not ended after %s and was given up: it waits in a driver",
			during, e.Stuck)
	case e.Unknown != nil:
		return fmt.Sprintf("worker ended %s; its exit status cannot be read: %v", during, e.Unknown)
	case e.Lacked != "":
		return fmt.Sprintf("worker ended %s: the system is short of what it needs: %s", during, e.Lacked)
	case e.Killed == lostControlReason:
		return fmt.Sprintf("worker ended itself %s: %s", during, e.Killed)
	case e.Killed != "" && e.Signal == syscall.SIGKILL:
		return fmt.Sprintf("worker killed by the server %s: %s", during, e.Killed)
	case e.Signal == syscall.SIGKILL && e.CPULimit > 0:
		return fmt.Sprintf("worker killed (SIGKILL) %s by the kernel, for its limit of CPU time (RLIMIT_CPU is %s; it used %s)",
			during, e.CPULimit, e.CPUUsed)
	case e.Signal == syscall.SIGKILL && e.Shortage == ShortageYes:
		limit := "the container's or the host's"
		if e.Limit > 0 {
			limit = "the limit here is " + bytesText(e.Limit)
		}
		return fmt.Sprintf("worker killed (SIGKILL) %s, out of memory: the kernel ended it (%s)", during, limit)
	case e.Signal == syscall.SIGKILL && e.Shortage == ShortageNo:
		return fmt.Sprintf("worker killed (SIGKILL) %s by the model's code or another process: "+
			"the kernel counts no out of memory kill here", during)
	case e.Signal == syscall.SIGKILL:
		return fmt.Sprintf("worker killed (SIGKILL) %s, likely out of memory: "+
			"the kernel or the container's limit ends a process so; else the model's code or another process killed it", during)
	case e.Signal != 0:
		return fmt.Sprintf("worker killed by %s %s%s%s", signalName(e.Signal), during, signalHelp(e.Signal), e.limits())
	case e.Code == 0:
		return fmt.Sprintf("worker exited with code 0 %s: the model's code ended the process%s", during, e.limits())
	default:
		return fmt.Sprintf("worker exited with code %d %s: "+
			"the model's code, or a library it uses, ended the process%s", e.Code, during, e.limits())
	}
}

// limits names the limits that may have ended the process.
func (e Exit) limits() string {
	if e.Lowered == "" {
		return ""
	}
	return "; it may have met a limit that was set in it: " + e.Lowered
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}

func signalHelp(s syscall.Signal) string {
	switch s {
	case syscall.SIGSEGV, syscall.SIGBUS:
		return " (a memory fault in native code)"
	case syscall.SIGABRT:
		return " (native code aborted, as failed assertions and C++ exceptions do)"
	case syscall.SIGILL:
		return " (an instruction that this CPU does not have)"
	case syscall.SIGFPE:
		return " (an arithmetic fault in native code)"
	case syscall.SIGXCPU:
		return " (its limit of CPU time, RLIMIT_CPU, is used up)"
	case syscall.SIGXFSZ:
		return " (its limit of file sizes, RLIMIT_FSIZE, is used up)"
	case syscall.SIGSYS:
		return " (a system call that its sandbox forbids)"
	default:
		return ""
	}
}

func exitOf(ws syscall.WaitStatus, killed string) Exit {
	e := Exit{Killed: killed}
	if ws.Signaled() {
		e.Signal = ws.Signal()
	} else {
		e.Code = ws.ExitStatus()
	}
	return e
}
