package main

import (
	"os"
	"runtime"

	"pinion/cmd/pinion/internal/cli"
	"pinion/cmd/pinion/internal/process"
	"pinion/runtime/supervise"
)

func init() {
	// The process's first thread must stay main's: in a worker it becomes Python's main thread, the
	// only one on which signals interrupt Python.
	runtime.LockOSThread()
}

func main() {
	if spec, ok := os.LookupEnv(supervise.EnvName); ok {
		os.Exit(workerMain(spec))
	}
	if len(os.Args) > 2 && os.Args[1] == process.ContainArgument {
		os.Exit(process.ContainMain(os.Args[2:]))
	}
	runtime.UnlockOSThread()
	os.Exit(cli.Run(os.Args[1:]))
}
