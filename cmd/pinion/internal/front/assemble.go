package front

import (
	"cmp"

	"pinion/cmd/pinion/internal/limits"
	"pinion/cmd/pinion/internal/listener"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/ownbinary"
	"pinion/cmd/pinion/internal/rundir"
	"pinion/cmd/pinion/internal/settings"
	"pinion/cmd/pinion/internal/setuptrace"
	"pinion/cmd/pinion/internal/tokenfile"
	"pinion/cmd/pinion/internal/version"
	"pinion/httpd"
	"pinion/httpd/page"
	"pinion/httpd/protocol"
	"pinion/runtime/files"
	"pinion/runtime/metrics/otlp"
	"pinion/runtime/predict"
	"pinion/runtime/service"
	"pinion/runtime/slot"
	"pinion/runtime/webhook"
)

func (f *Server) beginTelemetry() (err error) {
	if f.telemetry, err = f.startTelemetry(); err != nil {
		return err
	}
	f.tracer = f.telemetry.Tracer()
	f.log = f.telemetry.Follow(f.log, f.tracer)
	return nil
}

func (f *Server) sendMetrics() error {
	return f.telemetry.SendMetrics(otlp.Producer{Set: f.metrics, Version: version.Pinion})
}

func (f *Server) watchFolder() (err error) {
	f.watcher, err = f.newWatcher()
	return err
}

func (f *Server) listen() (err error) {
	f.ln, f.address, err = listener.Listen(f.s.Exposure.Address(), f.s.Port, listener.PortSetting{Flag: "-p", Variable: f.s.PortVariable})
	return err
}

func (f *Server) openFiles() (err error) {
	f.files, err = files.New(files.Options{
		OnTransfer: f.metrics.Transfer,
		Root:       f.dir.Files(), Remake: f.dir.RemakeFiles, UserAgent: cmp.Or(f.s.UserAgent, "pinion/"+version.Pinion), DenyPrivate: f.s.DenyPrivate, Logger: f.log,
		MaxFile: f.s.DownloadSize, MaxFiles: f.s.DownloadFiles, Timeout: f.s.DownloadTimeout,
		DenyPrivateUploads: f.s.DenyPrivateWebhooks,
	})
	return err
}

// makeService makes what runs predictions: slots, webhooks and the use cases.
func (f *Server) makeService() error {
	s := f.s
	f.pool = slot.NewPool(slot.Options{
		Queue: s.Queue, QueueTimeout: s.QueueTimeout, CancelGrace: s.CancelGrace, PredictTimeout: s.Fleet.PredictLimit,
		OnBatch:  f.metrics.Batch,
		Tracer:   f.tracer,
		BusyPoll: limits.BusyPolling(s.BusyPoll, f.plan.Workers, limits.Cores()),
	})
	f.webhooks = webhook.New(webhook.Options{
		OnDelivery: f.metrics.Webhook, Memory: f.budget,
		AuthToken: s.WebhookToken, UserAgent: "pinion/" + version.Pinion, Throttle: s.WebhookInterval, Logger: f.log,
		DenyPrivate: s.DenyPrivateWebhooks,
	})
	f.svc = service.New(service.Options{
		Pool: f.pool, Files: f.files, Logger: f.log, Queue: s.Queue > 0,
		Version:    map[string]string{"pinion": version.Pinion, "cog": version.Cog, "coglet": version.Cog},
		OnShutdown: f.ask,
		Webhooks:   f.webhooks,
		Observer:   observer{f.metrics},
		UploadURL:  s.UploadURL,
		Outputs:    settings.OutputChecks[s.Validation.Outputs],
		Keep:       predict.Retention{TTL: s.KeepFor(), OnQuiet: f.becameQuiet},
		Memory:     f.budget,
		Summaries:  s.Exposure.Dashboard.ShownSummaries(),
		Prediction: predict.Options{History: s.StreamHistory},
	})
	return nil
}

// makeHTTP makes the HTTP server.
func (f *Server) makeHTTP() (err error) {
	s, m := f.s, f.model
	if s.Exposure.AuthFile != "" {
		if f.auth, err = tokenfile.Open(s.Exposure.AuthFile, f.log); err != nil {
			return err
		}
	}
	public, err := s.Exposure.Public()
	if err != nil {
		return err
	}
	lines, probes := s.Access()
	f.view = f.newDashboard()
	back := backend{f.svc, f.preloadHealth, f.budget, f.fleetHealth}
	f.single = protocol.Single(protocol.NewModel(s.Protocols.ModelName(m), back))
	f.http = httpd.New(back, httpd.Options{
		Protocols: s.Protocols.List(f.single),
		MaxBody:   s.MaxBody, Logger: f.log, CogVersion: version.Cog, ModelName: m.Title(), CORSOrigins: s.Exposure.CORSOrigins,
		Docs:      page.Handler(page.Options{Model: m.Title(), Dashboard: f.linkToDashboard(), OpenAI: s.Protocols.OpenAIName(m)}),
		Dashboard: f.routesOfDashboard(false), Metrics: f.mainMetrics(), OnRequest: f.metrics.Request, OnGeneration: f.recordGeneration, Tracer: f.tracer, Reload: f.reloader(),
		Tokens: f.auth.Tokens(), Public: public,
		AccessLines: lines, AccessProbes: probes, AccessText: s.Log.Console(), Memory: f.budget,
		Spool:      f.files.SpoolToDisk,
		NoShutdown: s.Exposure.NoShutdown, ShutdownFromAny: s.Exposure.ShutdownFrom == settings.FromAny,
	})
	return nil
}

// makeSupervisors makes the supervisors of the workers.
func (f *Server) makeSupervisors() error {
	sdk, err := rundir.SDK(f.dir)
	if err != nil {
		return err
	}
	if f.image, err = ownbinary.Find(); err != nil {
		return err
	}
	if f.plan.Warning != "" {
		f.log.Warn(f.plan.Warning)
	}
	f.sdk = sdk
	f.use(f.model)
	stored := &model.Override{Dir: f.model.Dir, Log: f.log, Current: f.current.Load}
	o := f.workerOptions(f.model, sdk, stored.Before(f.svc.Loaded))
	o.Preloader = f.newPreloader(o.Spec, o.Env)
	f.preloader = o.Preloader
	env := o.Env
	for i := range f.plan.Workers {
		o.Index, o.Env = i, f.withDevice(env, i)
		o.Device, _ = f.plan.Device(i)
		traced := o
		(&setuptrace.Setups{Tracer: f.tracer}).Follow(&traced.Hooks)
		f.workers = append(f.workers, f.svc.Supervise(traced))
	}
	return nil
}
