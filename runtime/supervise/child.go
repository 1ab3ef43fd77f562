package supervise

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// roleCommand makes the command that starts this binary again, as a worker or a template; it is told its task by the
// environment. The files are its descriptors from 3 on.
func roleCommand(role, exe string, task Spec, env []string, files ...*os.File) (*exec.Cmd, error) {
	config, err := json.Marshal(task)
	if err != nil {
		return nil, fmt.Errorf("encode %s spec: %w", role, err)
	}
	return &exec.Cmd{
		Path:       exe,
		Args:       []string{"pinion: " + role},
		Dir:        task.Root,
		Env:        append(env[:len(env):len(env)], EnvName+"="+string(config)),
		ExtraFiles: files,
		// Its own group: terminal signals stay away, and one kill reaches all that it started.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}, nil
}

// untilEnded waits until a child has ended, and leaves it to be reaped: until then its number is nobody else's.
func untilEnded(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// reapCommand takes the exit status of a command whose process has ended. It fails where somebody else has taken it.
func reapCommand(cmd *exec.Cmd) (syscall.WaitStatus, error) {
	err := cmd.Wait()
	state := cmd.ProcessState
	if state == nil {
		return 0, err
	}
	ws, _ := state.Sys().(syscall.WaitStatus)
	return ws, nil // whatever Wait says of the status itself
}
