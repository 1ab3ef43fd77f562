package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"pinion/pyembed/locate"
	"pinion/runtime/files"
	"pinion/runtime/predict"
	"pinion/runtime/service"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
)

// errInterrupted: the user asked for the end.
var errInterrupted = errors.New("interrupted")

// engine is a server without HTTP: one worker, for what a command asks of it.
type engine struct {
	dir     *runDir
	files   *files.Store
	svc     *service.Service
	worker  *supervise.Supervisor
	signals <-chan os.Signal
	loaded  chan []byte // gets the model's document when its module was imported
}

// newEngine makes an engine of a model; mode is "predict" or "train"; warmUp has its example run after
// its setup. Close it, whatever becomes of it.
func newEngine(m *model, python *locate.Python, mode string, warmUp bool, log *slog.Logger) (_ *engine, err error) {
	s, err := settingsFromEnvironment(m.getenv)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	e := &engine{signals: watchSignals(false), loaded: make(chan []byte, 1)}
	if e.dir, err = makeRunDir(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.clean()
		}
	}()
	e.files, err = files.New(files.Options{
		Root: e.dir.Files(), Remake: e.dir.RemakeFiles, UserAgent: firstOf(s.userAgent, "pinion/"+version), Logger: log,
	})
	if err != nil {
		return nil, err
	}
	sdk, err := sdkDir(e.dir)
	if err != nil {
		return nil, err
	}
	pool := slot.NewPool(slot.Options{CancelGrace: s.cancelGrace, PredictTimeout: s.fleet.predictLimit})
	e.svc = service.New(service.Options{
		Pool: pool, Files: e.files, Logger: log, Version: map[string]string{}, OnShutdown: func() {},
	})
	e.worker = supervise.New(supervise.Options{
		Exe: runningImage,
		Spec: supervise.Spec{
			Python: python.Executable, LibPython: python.LibPython, SDK: sdk, Root: m.Dir, Ref: m.Ref, Train: m.Train,
			Mode: mode, Concurrency: m.Concurrency, Weights: s.weights, NoCUDA: s.noCUDA, NoWarmUp: !warmUp,
			NoneDefaults: string(m.NoneDefaults),
		},
		Env:          withoutSecrets(supervise.WorkerEnv(m.Env)),
		Restart:      supervise.Never,
		SetupTimeout: s.setupTimeout,
		Pool:         pool,
		Logger:       log,
		OnLoaded:     (&storedDocument{dir: m.Dir, log: log, current: func() *model { return m }}).first(e.modelLoaded),
		OnChange:     e.svc.Changed,
	})
	e.svc.Watch(e.worker)
	go e.worker.Run()
	return e, nil
}

// modelLoaded is told of the imported model, before its setup begins.
func (e *engine) modelLoaded(l supervise.Loaded) {
	e.svc.Loaded(l)
	select {
	case e.loaded <- l.Schema:
	default: // another worker's
	}
}

// described waits until the model is imported, and returns its document. The error is that of ready.
func (e *engine) described() ([]byte, error) {
	for {
		select {
		case document := <-e.loaded:
			return document, nil
		case <-e.svc.Changes():
			if e.worker.Status().Defunct {
				return nil, e.unready()
			}
		case <-e.worker.Done():
			return nil, e.unready()
		case <-e.signals:
			return nil, errInterrupted
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
func (e *engine) ready() error {
	for {
		status := e.worker.Status()
		if status.Defunct {
			return e.unready()
		}
		if status.State == supervise.Ready && e.svc.Ready() == nil {
			return nil
		}
		select {
		case <-e.svc.Changes():
		case <-e.worker.Done():
			return e.unready()
		case <-e.signals:
			return errInterrupted
		}
	}
}

// unready is why the model cannot be set up; its traceback was printed.
func (e *engine) unready() error {
	st := e.worker.Status()
	if p := st.Setup.Problem; p != nil && p.Mend != "" {
		return fmt.Errorf("setup failed: %s\n    %s", p.What, p.Mend)
	}
	if st.LastExit != "" {
		return fmt.Errorf("setup failed: %s", st.LastExit)
	}
	return e.svc.Ready()
}

// carryOut makes a prediction and returns its record. An interrupt cancels it, a second one kills the worker.
// Release it when its record was used.
func (e *engine) carryOut(req predict.Request, watch predict.Observer) (p *predict.Prediction, interrupted bool, err error) {
	req.Mode = predict.Async // so that it is told of as it happens
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

// interrupts counts a user's wishes for the end. The zero value has none.
type interrupts struct {
	first time.Time
	by    os.Signal // the first
}

// echo is how soon after the first a second signal is taken for the same wish: a launcher that has its own
// group interrupted passes the signal on besides.
const echo = 500 * time.Millisecond

func (i *interrupts) any() bool { return !i.first.IsZero() }

// again notes a wish, and tells whether it is not the first. A SIGINT after a SIGTERM is no echo: launchers pass a SIGINT on
// as either, and a SIGTERM as it is.
func (i *interrupts) again(sig os.Signal) bool {
	if !i.any() {
		i.first, i.by = time.Now(), sig
		return false
	}
	return i.by == syscall.SIGTERM && sig == syscall.SIGINT || time.Since(i.first) > echo
}

// close lets the worker leave, and removes what there was on disk. A further interrupt kills the worker.
func (e *engine) close(now bool) {
	if now {
		e.worker.Kill()
	} else {
		e.worker.Stop()
	}
	for gone := false; !gone; {
		select {
		case <-e.worker.Done():
			gone = true
		case <-e.signals:
			e.worker.Kill()
		}
	}
	e.svc.Close()
	e.clean()
}

func (e *engine) clean() {
	if e.files != nil {
		_ = e.files.Close() // the folder below is removed with all that is in it
	}
	_ = e.dir.Remove() // the next run sweeps it
}
