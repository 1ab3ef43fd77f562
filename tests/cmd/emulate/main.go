package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

const (
	qemu      = "/usr/bin/qemu-aarch64-static"
	formats   = "/proc/sys/fs/binfmt_misc"
	insideArg = "--in-the-namespaces"
	users     = 65536 // are mapped
)

// arm64 describes ELF programs for arm64, by their first bytes and a mask for those. With F the kernel opens QEMU at
// once, so that it need not be in the root file system of the program.
const arm64 = `:emulate-arm64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:` +
	`\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:` + qemu + `:F`

func main() {
	code, err := emulate(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "emulate:", err)
	}
	os.Exit(code)
}

func emulate(args []string) (int, error) {
	switch {
	case len(args) == 0:
		return 2, errors.New("usage: emulate COMMAND [ARGUMENT...]")
	case args[0] == insideArg:
		if err := register(); err != nil {
			return 125, err
		}
		return 127, replace(args[1:])
	case runtime.GOARCH == "arm64":
		return 127, replace(args)
	}
	return enter(args)
}

// enter starts this program again in the namespaces, and ends as it ends.
func enter(args []string) (int, error) {
	everyUser := []syscall.SysProcIDMap{{Size: users}}
	cmd := exec.Command("/proc/self/exe", append([]string{insideArg}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, UidMappings: everyUser, GidMappings: everyUser,
		GidMappingsEnableSetgroups: true, Pdeathsig: syscall.SIGKILL,
	}
	runtime.LockOSThread() // the command ends with the thread that starts it
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		return 125, fmt.Errorf("make namespaces: %w", err)
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // it may have ended
		}
	}()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 125, err
	}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// register makes this user namespace's own table of formats.
func register() error {
	if err := syscall.Mount("binfmt_misc", formats, "binfmt_misc", 0, ""); err != nil {
		return fmt.Errorf("mount binfmt_misc: %w", err)
	}
	if err := os.WriteFile(formats+"/register", []byte(arm64), 0); err != nil {
		return fmt.Errorf("register %s: %w", qemu, err)
	}
	return nil
}

// replace makes this process the command.
func replace(args []string) error {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("run %s: %w", path, syscall.Exec(path, args, os.Environ()))
}
