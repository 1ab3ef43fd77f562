package main

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"pinion/pyembed"
	"pinion/pyembed/cuda"
	"pinion/runtime/supervise"
)

// workerMain turns this process into a worker. It runs on the process's first thread.
func workerMain(config string) int {
	// The model and its children must see neither the role nor our descriptors.
	os.Unsetenv(supervise.EnvName)
	syscall.CloseOnExec(supervise.ControlFD)
	syscall.CloseOnExec(supervise.PageFD)
	var spec supervise.Spec
	if err := json.Unmarshal([]byte(config), &spec); err != nil {
		fmt.Fprintln(os.Stderr, "pinion: this process is to be a worker, which only 'pinion serve' can start:", err)
		return exitUsage
	}
	if err := cuda.Start(cuda.Options{Disabled: spec.NoCUDA}); err != nil {
		fmt.Fprintln(os.Stderr, "pinion worker:", err) // it serves without
	}
	code, err := pyembed.Main(pyembed.Config{
		Python:     spec.Python,
		LibPython:  spec.LibPython,
		SDK:        spec.SDK,
		JSON:       []byte(config),
		ControlFD:  supervise.ControlFD,
		PageFD:     supervise.PageFD,
		CUDAReport: cuda.ReportFunc(),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "pinion worker:", err)
		return exitFailure
	}
	return code
}
