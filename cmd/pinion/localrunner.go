package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/contain"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/rundir"
	"pinion/ipc"
	"pinion/pyembed/locate"
	"pinion/runtime/files"
	"pinion/runtime/predict"
	"pinion/runtime/service"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
)

// localRunner is a server without HTTP: one worker, for what a command asks of it.
type localRunner struct {
	dir     *rundir.Dir
	files   *files.Store
	svc     *service.Service
	worker  *supervise.Supervisor
	signals <-chan os.Signal
	loaded  chan []byte // gets the model's document when its module was imported
}

// newLocalRunner makes a local runner for a model; mode is "predict" or "train"; warmUp has its example run after
// its setup. The caller closes it.
func newLocalRunner(m *model.Model, python *locate.Python, mode string, warmUp bool, log *slog.Logger) (_ *localRunner, err error) {
	s, err := settingsFromEnvironment(m.Getenv)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	e := &localRunner{signals: watchSignals(false), loaded: make(chan []byte, 1)}
	if e.dir, err = rundir.Make(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.clean()
		}
	}()
	e.files, err = files.New(files.Options{
		Root: e.dir.Files(), Remake: e.dir.RemakeFiles, UserAgent: cmp.Or(s.userAgent, "pinion/"+version), Logger: log,
	})
	if err != nil {
		return nil, err
	}
	sdk, err := rundir.SDK(e.dir)
	if err != nil {
		return nil, err
	}
	pool := slot.NewPool(slot.Options{CancelGrace: s.cancelGrace, PredictTimeout: s.fleet.predictLimit})
	e.svc = service.New(service.Options{
		Pool: pool, Files: e.files, Logger: log, Version: map[string]string{}, OnShutdown: func() {},
	})
	stored := &storedDocument{dir: m.Dir, log: log, current: func() *model.Model { return m }}
	o := workerOptions(m, python, sdk, s, stored.first(e.modelLoaded))
	o.Spec.Mode, o.Spec.NoWarmUp = mode, !warmUp
	o.Policy.Restart = supervise.Never
	e.worker = e.svc.Supervise(o)
	go e.worker.Run()
	return e, nil
}

// modelLoaded is called when the model is imported, before its setup.
func (e *localRunner) modelLoaded(l ipc.Loaded) {
	e.svc.Loaded(l)
	select {
	case e.loaded <- l.Schema:
	default: // another worker's
	}
}

// document waits until the model is imported, and returns its document. The error is that of ready.
func (e *localRunner) document() ([]byte, error) {
	for {
		select {
		case document := <-e.loaded:
			return document, nil
		case <-e.svc.Changes():
			if e.worker.Status().Defunct {
				return nil, e.setupError()
			}
		case <-e.worker.Done():
			return nil, e.setupError()
		case <-e.signals:
			return nil, contain.ErrInterrupted
		}
	}
}

// settingsFromEnvironment is what the environment says to a command that has no such flags.
func settingsFromEnvironment(env func(string) string) (*settings, error) {
	s := &settings{}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.bindFlags(f)
	return s, s.fromEnvironment(f, env)
}

// ready waits until the model is set up. The error says why it cannot be, or is errInterrupted.
func (e *localRunner) ready() error {
	for {
		status := e.worker.Status()
		if status.Defunct {
			return e.setupError()
		}
		if status.State == supervise.Ready && e.svc.Ready() == nil {
			return nil
		}
		select {
		case <-e.svc.Changes():
		case <-e.worker.Done():
			return e.setupError()
		case <-e.signals:
			return contain.ErrInterrupted
		}
	}
}

// setupError is why the model cannot be set up; its traceback was printed.
func (e *localRunner) setupError() error {
	st := e.worker.Status()
	if p := st.Setup.Problem; p != nil && p.Mend != "" {
		return fmt.Errorf("setup failed: %s\n    %s", p.What, p.Mend)
	}
	if st.LastExit != "" {
		return fmt.Errorf("setup failed: %s", st.LastExit)
	}
	return e.svc.Ready()
}

// run makes a prediction and returns its record. An interrupt cancels it, a second one kills the worker.
// Release it when its record was used.
func (e *localRunner) run(req predict.Request, watch predict.Observer) (p *predict.Prediction, interrupted bool, err error) {
	req.Mode = predict.Async // so that its events arrive as they happen
	p, err = e.svc.Create(req)
	if err != nil {
		return nil, false, err
	}
	if watch != nil {
		p.Watch(watch)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	var asked interrupts
	for {
		select {
		case err := <-ended:
			return p, asked.any(), err
		case sig := <-e.signals:
			if asked.again(sig) {
				e.worker.Kill()
			}
			p.Cancel()
		}
	}
}

// interrupts records the signals by which a user asks for the end. The zero value has none.
type interrupts struct {
	first time.Time
	by    os.Signal // the first
}

// echo is how soon after the first a second signal is taken for the same wish: a launcher that has its own
// group interrupted passes the signal on besides.
const echo = 500 * time.Millisecond

func (i *interrupts) any() bool { return !i.first.IsZero() }

// again records a signal, and reports whether it is a repeated one. A SIGINT after a SIGTERM is no echo: launchers pass a SIGINT on
// as either, and a SIGTERM as it is.
func (i *interrupts) again(sig os.Signal) bool {
	if !i.any() {
		i.first, i.by = time.Now(), sig
		return false
	}
	return i.by == syscall.SIGTERM && sig == syscall.SIGINT || time.Since(i.first) > echo
}

// close lets the worker leave, and removes what there was on disk. A further interrupt kills the worker.
func (e *localRunner) close(now bool) {
	if now {
		e.worker.Kill()
	} else {
		e.worker.Stop()
	}
	for exited := false; !exited; {
		select {
		case <-e.worker.Done():
			exited = true
		case <-e.signals:
			e.worker.Kill()
		}
	}
	e.svc.Close()
	e.clean()
}

func (e *localRunner) clean() {
	if e.files != nil {
		_ = e.files.Close() // the folder below is removed with all that is in it
	}
	_ = e.dir.Remove() // the next run sweeps it
}
