package main

import (
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"pinion/pyembed/locate"
	"pinion/runtime/supervise"
)

// work is what workers are told of their task: the model as it lies in its folder now.
func (f *front) work(m *model, python *locate.Python, sdk string) (supervise.Spec, []string) {
	return supervise.Spec{
		Python: python.Executable, LibPython: python.LibPython, SDK: sdk,
		Root: m.Dir, Ref: m.Ref, Mode: m.mode(f.s.mode), Train: m.Train, Concurrency: f.concurrency(m),
		Weights: f.s.weights, NoCUDA: f.s.noCUDA, NoWarmUp: f.s.validation.noWarmUp,
		NoneDefaults: string(m.NoneDefaults),
	}, withoutSecrets(supervise.WorkerEnv(m.Env))
}

// use makes m the model that workers load from now on.
func (f *front) use(m *model) {
	f.current.Store(m)
	if m.Both {
		f.log.Warn(cogFile + ": " + bothWhat + "; " + bothMend)
	}
}

// concurrency is what the model is told of it: a flag counts before its cog.yaml.
func (f *front) concurrency(m *model) int {
	if f.s.concurrency != 0 {
		return f.s.concurrency
	}
	return m.Concurrency
}

// withDevice gives a worker its GPUs, where it has any of its own.
func (f *front) withDevice(env []string, i int) []string {
	device, own := f.plan.device(i)
	if !own {
		return env
	}
	const name = "CUDA_VISIBLE_DEVICES="
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, name) })
	return append(env, name+device)
}

// keepSDK sees before each start that the folder of the cog package is still there and as it should be. The first
// follows at once upon hire's own look.
func (f *front) keepSDK(spec *supervise.Spec) error {
	f.sdkLock.Lock()
	defer f.sdkLock.Unlock()
	dir, err := f.sdk, error(nil)
	if f.sdk = ""; dir == "" {
		dir, err = sdkDir(f.dir)
	}
	if err == nil {
		spec.SDK = dir
	}
	return err
}

// reload replaces the workers, one after another, by such as have the model as it is now. It returns at once.
// A folder that cannot be served is told of, and the workers stay. So is a binary of another version, which no
// worker will be of. The tokens are read anew in any case.
func (f *front) reload(why string) (notice string, err error) {
	return f.renew(why, func(w *supervise.Supervisor) { w.Renew("reload") })
}

// renew is reload, with the renewal of one worker.
func (f *front) renew(why string, one func(*supervise.Supervisor)) (notice string, err error) {
	f.auth.reload()
	m, err := f.s.findModel(f.model.Dir)
	if err != nil {
		f.log.Error("the model is not reloaded", "error", err)
		return "", err
	}
	if notice = f.image.change(); notice != "" {
		f.log.Warn(notice)
	}
	f.use(m)
	f.log.Info("reloading", "asked_by", why, "model", m.name())
	spec, env := f.work(m, f.python, "")
	f.reloads.begin(func() { f.template.Renew(spec, env) }, f.template != nil, func() {
		for i, w := range f.workers {
			w.Reset(spec, f.withDevice(env, i))
			one(w)
		}
	})
	return notice, nil
}

// reloader is what POST /reload calls, where that is allowed.
func (f *front) reloader() func() (string, error) {
	if !f.s.fleet.reload {
		return nil
	}
	return func() (string, error) { return f.reload("POST /reload") }
}

// watchReload has SIGHUP reload the model. At a terminal it means that the terminal is gone, and ends the
// server as ever; and where it was set to be ignored, as nohup does, it is.
func (f *front) watchReload() {
	if isTerminal(os.Stdin) || isTerminal(os.Stderr) || signal.Ignored(syscall.SIGHUP) {
		return
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			_, _ = f.reload("SIGHUP") // it has told of its error
		}
	}()
}
