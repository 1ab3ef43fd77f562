package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
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
	var spec supervise.Spec
	if err := json.Unmarshal([]byte(config), &spec); err != nil {
		fmt.Fprintln(os.Stderr, "pinion: this process is to be a worker, which only 'pinion serve' can start:", err)
		return exitUsage
	}
	if spec.Template {
		return templateMain(spec, config)
	}
	syscall.CloseOnExec(supervise.PageFD)
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

// templateMain turns this process into a template: one that imports the model's modules, and forks workers.
func templateMain(spec supervise.Spec, config string) int {
	// Nothing of Go's is to be done in it ever: its threads stay as few as they are, and asleep.
	debug.SetGCPercent(-1)
	start, options := cuda.Later(cuda.Options{Disabled: spec.NoCUDA})
	code, err := pyembed.Main(pyembed.Config{
		Python:     spec.Python,
		LibPython:  spec.LibPython,
		SDK:        spec.SDK,
		JSON:       []byte(config),
		ControlFD:  supervise.ControlFD,
		CUDAReport: cuda.ReportFunc(),
		Template:   &pyembed.Template{Title: os.Args[0], CUDAStart: start, CUDAOptions: options},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "pinion template:", err)
		return exitFailure
	}
	return code
}
