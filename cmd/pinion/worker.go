package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"pinion/cmd/pinion/internal/process"
	"pinion/ipc"
	"pinion/pyembed"
	"pinion/pyembed/cuda"
	"pinion/runtime/supervise"
)

// workerMain turns this process into a worker. It runs on the process's first thread.
func workerMain(config string) int {
	// Its Go only starts Python, so a cycle would be work for nothing. In a preload process no Go code may run after that:
	// its threads stay asleep, and no new ones start. supervise.CollectorOff says so sooner, unless GOGC is set.
	debug.SetGCPercent(-1)
	// The model and its children must see neither the role nor our descriptors.
	os.Unsetenv(supervise.EnvName)
	if name, value, _ := strings.Cut(supervise.CollectorOff, "="); os.Getenv(name) == value {
		os.Unsetenv(name)
	}
	syscall.CloseOnExec(supervise.ControlFD)
	closeCPULimit()
	spec, err := ipc.ParseWorkerConfig([]byte(config))
	if err != nil {
		fmt.Fprintln(os.Stderr, "pinion: this is a worker, which only 'pinion serve' can start:", err)
		return process.ExitUsage
	}
	pyembed.BlockSignals()
	if spec.Preload {
		return preloadMain(spec, config)
	}
	syscall.CloseOnExec(supervise.PageFD)
	nameProcess()
	if err := cuda.Start(cuda.Options{Disabled: spec.NoCUDA}); err != nil {
		fmt.Fprintln(os.Stderr, "pinion worker:", err) // it serves without
	}
	return runPython("worker", spec, pyembed.Config{JSON: []byte(config), PageFD: supervise.PageFD})
}

// closeCPULimit closes the files of the control group by which Go follows the limit of CPUs. Go opened them before any
// other code ran, as the lowest descriptors that were free.
func closeCPULimit() {
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0)) // Go reads them no more
	for fd := supervise.ControlFD + 1; ; fd++ {
		var target [unix.PathMax]byte
		n, err := unix.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd), target[:])
		if err != nil {
			return
		}
		switch filepath.Base(string(target[:n])) {
		case "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us":
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC != 0 {
				unix.Close(fd) // else the front inherited it, and left it to the model
			}
		}
	}
}

// nameProcess gives this thread, by which ps and top name the process, the name of the binary: the kernel has named it
// by the path that it was executed by, which is process.RunningBinary.
func nameProcess() {
	name := []byte("pinion\x00")
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0) // it only helps people
}

// preloadMain turns this process into a preload process: it imports the model's modules, and forks workers.
func preloadMain(spec ipc.WorkerConfig, config string) int {
	start, options := cuda.StartFunc(cuda.Options{Disabled: spec.NoCUDA})
	preloader := &pyembed.Preloader{Title: os.Args[0], CUDAStart: start, CUDAOptions: options}
	return runPython("preload", spec, pyembed.Config{JSON: []byte(config), Preloader: preloader})
}

// runPython hands this thread to Python, with what c says and what is the same in both roles.
func runPython(role string, spec ipc.WorkerConfig, c pyembed.Config) int {
	c.Python, c.LibPython, c.SDK = spec.Python, spec.LibPython, spec.SDK
	c.ControlFD, c.CUDAReport = supervise.ControlFD, cuda.ReportFunc()
	code, err := pyembed.Main(c)
	if err != nil {
		fmt.Fprintf(os.Stderr, "pinion %s: %v\n", role, err)
		return process.ExitFailure
	}
	return code
}
