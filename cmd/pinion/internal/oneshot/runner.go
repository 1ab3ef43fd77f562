package oneshot

import (
	"fmt"
	"log/slog"
	"os"

	"pinion/cmd/pinion/internal/process"
	"pinion/ipc"
	"pinion/runtime/files"
	"pinion/runtime/predict"
	"pinion/runtime/service"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
)

type RunnerOptions struct {
	// Worker returns the options of the worker. sdk is the folder of the cog package; loaded is to be called when the
	// model is imported.
	Worker func(sdk string, loaded func(ipc.Loaded)) supervise.Options
	Pool   slot.Options
	// Begin begins what the worker waits for, which has a folder for that; End ends it.
	Begin func(folder string) error
	End   func()
	// UserAgent is that of downloads.
	UserAgent string
	Log       *slog.Logger
}

// Runner is one worker, and what else a prediction needs.
type Runner struct {
	dir     *process.RunDir
	files   *files.Store
	svc     *service.Service
	worker  *supervise.Supervisor
	signals <-chan os.Signal
	end     func()
	loaded  chan []byte // gets the model's document when its module was imported
}

// NewRunner starts a worker, which is never replaced. The caller closes the runner.
func NewRunner(o RunnerOptions) (_ *Runner, err error) {
	r := &Runner{signals: process.WatchInterrupts(false), end: o.End, loaded: make(chan []byte, 1)}
	if r.dir, err = process.MakeRunDir(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.clean()
		}
	}()
	r.files, err = files.New(files.Options{
		Root: r.dir.Files(), Remake: r.dir.RemakeFiles, UserAgent: o.UserAgent,
		Logger: o.Log,
	})
	if err != nil {
		return nil, err
	}
	sdk, err := process.SDKFolder(r.dir)
	if err != nil {
		return nil, err
	}
	r.svc = service.New(service.Options{
		Pool: slot.NewPool(o.Pool), Files: r.files, Logger: o.Log, Version: map[string]string{},
	})
	orphans, err := supervise.AdoptOrphans()
	if err != nil {
		return nil, err
	}
	if err := o.Begin(r.dir.Path()); err != nil {
		return nil, err
	}
	worker := o.Worker(sdk, r.modelLoaded)
	worker.Policy.Restart, worker.Fleet = supervise.Never, supervise.NewFleet(orphans)
	r.worker = r.svc.Supervise(worker)
	go r.worker.Run()
	return r, nil
}

func (r *Runner) Worker() *supervise.Supervisor { return r.worker }

// modelLoaded is called when the model is imported, before its setup.
func (r *Runner) modelLoaded(l ipc.Loaded) {
	r.svc.Loaded(l)
	select {
	case r.loaded <- l.Schema:
	default: // another worker's
	}
}

// Document waits until the model is imported, and returns its document. The error is that of Ready.
func (r *Runner) Document() ([]byte, error) {
	for {
		select {
		case document := <-r.loaded:
			return document, nil
		case <-r.svc.Changes():
			if r.worker.Status().Defunct {
				return nil, r.setupError()
			}
		case <-r.worker.Done():
			return nil, r.setupError()
		case <-r.signals:
			return nil, process.ErrInterrupted
		}
	}
}

// Ready waits until the model is set up. The error says why it cannot be, or is process.ErrInterrupted.
func (r *Runner) Ready() error {
	for {
		status := r.worker.Status()
		if status.Defunct {
			return r.setupError()
		}
		if status.State == supervise.Ready && r.svc.Ready() == nil {
			return nil
		}
		select {
		case <-r.svc.Changes():
		case <-r.worker.Done():
			return r.setupError()
		case <-r.signals:
			return process.ErrInterrupted
		}
	}
}

// setupError returns why the model cannot be set up; its traceback was printed.
func (r *Runner) setupError() error {
	st := r.worker.Status()
	if p := st.Setup.Problem; p != nil && p.Fix != "" {
		return fmt.Errorf("setup failed: %s\n    %s", p.What, p.Fix)
	}
	if st.LastExit != "" {
		return fmt.Errorf("setup failed: %s", st.LastExit)
	}
	return r.svc.Ready()
}

// Run makes a prediction and returns its record. An interrupt cancels it, a second one kills the worker.
// begun, if not nil, is called once it is accepted. The caller releases it when it has used the record.
func (r *Runner) Run(req predict.Request, watch predict.Observer, begun func()) (p *predict.Prediction, interrupted bool, err error) {
	req.Mode = predict.Async // so that its events arrive as they happen
	p, err = r.svc.Create(req)
	if err != nil {
		return nil, false, err
	}
	if watch != nil {
		p.Watch(watch)
	}
	if begun != nil {
		begun()
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run() }()
	var asked process.InterruptRequests
	for {
		select {
		case err := <-ended:
			return p, asked.Any(), err
		case sig := <-r.signals:
			if asked.Again(sig) {
				r.worker.Kill()
			}
			p.Cancel()
		}
	}
}

// Close makes the worker exit, and removes its files. A further interrupt kills the worker.
func (r *Runner) Close(now bool) {
	if now {
		r.worker.Kill()
	} else {
		r.worker.Stop()
	}
	for exited := false; !exited; {
		select {
		case <-r.worker.Done():
			exited = true
		case <-r.signals:
			r.worker.Kill()
		}
	}
	r.svc.Close()
	r.clean()
}

func (r *Runner) clean() {
	r.end()
	if r.files != nil {
		_ = r.files.Close() // the folder below is removed with all that is in it
	}
	_ = r.dir.Remove() // the next run sweeps it
}
