package modelhost

import (
	"sync"
	"sync/atomic"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/process"
	"pinion/ipc"
	"pinion/runtime/supervise"
)

// newPreloader makes the preloader, where one was asked for.
func (m *Model) newPreloader(spec ipc.WorkerConfig, env []string) *supervise.Preloader {
	if !m.s.Fleet.Preload.On() {
		return nil
	}
	return supervise.NewPreloader(supervise.PreloaderOptions{
		Exe: process.RunningBinary, Spec: spec, Env: env, Timeout: m.s.SetupTimeout,
		Setup: m.s.Fleet.Preload == config.PreloadSetup, Orphans: m.host.o.Orphans, Logger: m.Log,
		Prepare: m.prepareWorker, TimeoutFrom: m.weights.There, OnChange: m.Service.Changed,
	})
}

// reloads runs one reload after another, and leaves out those that a later one makes unnecessary.
type reloads struct {
	newest atomic.Int64
	mu     sync.Mutex
}

// begin replaces the workers: at once, or, if there is a preload process, when that has been replaced, which takes as
// long as the model's import.
func (r *reloads) begin(preload func(), wait bool, workers func()) {
	if !wait {
		workers()
		return
	}
	number := r.newest.Add(1)
	go func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.newest.Load() == number {
			preload()
			workers()
		}
	}()
}
