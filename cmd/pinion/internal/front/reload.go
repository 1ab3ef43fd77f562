package front

import (
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/rundir"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/cmd/pinion/internal/version"
	"pinion/ipc"
	"pinion/runtime/supervise"
)

// use makes m the model that workers load from now on.
func (f *Server) use(m *model.Model) {
	f.current.Store(m)
	if m.Both {
		f.log.Warn(model.CogFile + ": " + model.BothWhat + "; " + model.BothMend)
	}
}

// withDevice gives a worker its GPUs, if it has some to itself.
func (f *Server) withDevice(env []string, i int) []string {
	device, own := f.plan.Device(i)
	if !own {
		return env
	}
	const name = "CUDA_VISIBLE_DEVICES="
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, name) })
	return append(env, name+device)
}

// keepSDK sees before each start that the folder of the cog package is still there and as it should be. The first
// follows at once upon makeSupervisors's own look.
func (f *Server) keepSDK(spec *ipc.WorkerConfig) error {
	f.sdkLock.Lock()
	defer f.sdkLock.Unlock()
	dir, err := f.sdk, error(nil)
	if f.sdk = ""; dir == "" {
		dir, err = rundir.SDK(f.dir)
	}
	if err == nil {
		spec.SDK = dir
	}
	return err
}

// reload replaces the workers, one after another, by workers that load the model as it is now. It returns at once.
// If the folder cannot be served, the log says so and the workers stay. The log also names a binary of another version, which no
// worker will be of. The tokens are read anew in any case.
func (f *Server) reload(why string) (notice string, err error) {
	return f.renew(why, func(w *supervise.Supervisor) { w.Renew("reload") })
}

// renew is reload, with the renewal of one worker.
func (f *Server) renew(why string, one func(*supervise.Supervisor)) (notice string, err error) {
	f.auth.Reload()
	m, err := f.s.FindModel(f.model.Dir)
	if err != nil {
		f.log.Error("the model is not reloaded", "error", err)
		return "", err
	}
	if notice = f.image.Change(version.Pinion); notice != "" {
		f.log.Warn(notice)
	}
	f.use(m)
	f.log.Info("reloading", "asked_by", why, "model", m.Name())
	o := f.workerOptions(m, "", nil)
	f.reloads.begin(func() { f.preloader.Renew(o.Spec, o.Env) }, f.preloader != nil, func() {
		for i, w := range f.workers {
			w.Reset(o.Spec, f.withDevice(o.Env, i))
			one(w)
		}
	})
	return notice, nil
}

// reloader is what POST /reload calls, where that is allowed.
func (f *Server) reloader() func() (string, error) {
	if !f.s.Exposure.Reload {
		return nil
	}
	return func() (string, error) { return f.reload("POST /reload") }
}

// watchReload has SIGHUP reload the model. At a terminal it means that the terminal is gone, and ends the
// server as ever; and where it was set to be ignored, as nohup does, it is.
func (f *Server) watchReload() {
	if terminal.IsTerminal(os.Stdin) || terminal.IsTerminal(os.Stderr) || signal.Ignored(syscall.SIGHUP) {
		return
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			_, _ = f.reload("SIGHUP") // it has logged its error
		}
	}()
}
