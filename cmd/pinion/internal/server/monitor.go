package server

import (
	"context"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/ports"
	"pinion/httpd"
)

// openMonitor opens the port of --metrics-port, where one is wanted.
func (f *Server) openMonitor() (err error) {
	if f.s.Exposure.MetricsPort < 0 {
		return nil
	}
	var address string
	if f.endpoints.watched, address, err = ports.Listen(f.s.Exposure.MonitorAddress(), f.s.Exposure.MetricsPort,
		ports.Setting{Flag: "--metrics-port", Variable: "PINION_METRICS_PORT"}, f.certificate); err != nil {
		return err
	}
	f.endpoints.monitor = httpd.NewMonitor(f.root(), httpd.Options{
		AllowedHosts: f.s.Exposure.AllowedHosts, Help: version.HelpPages(),
		Logger: f.log, Metrics: httpd.MetricsHandler(f.allMetrics()), Dashboard: f.rootDashboard(true),
		Connections: f.connections.Part(256), TLS: f.certificate.ForMonitor(),
		Models: f.httpModels(true),
	})
	f.log.Info("serving metrics and probes", "metrics_address", address)
	return nil
}

// mainMetrics answers /metrics on the server's own port, unless it has moved to the monitor's.
func (f *Server) mainMetrics() fasthttp.RequestHandler {
	if f.s.Exposure.MetricsPort >= 0 {
		return nil
	}
	return httpd.MetricsHandler(f.allMetrics())
}

// monitorLinger is how long those who watch may take over their last request.
const monitorLinger = time.Second

// closeMonitor ends the monitor: last, so that a draining server is still watched.
func (f *Server) closeMonitor() {
	for _, m := range f.models.all() {
		if m.view != nil {
			m.view.Close()
		}
	}
	if f.endpoints.monitor == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), monitorLinger)
	defer cancel()
	if err := f.endpoints.monitor.Shutdown(ctx); err != nil {
		f.log.Debug("the metrics' port was closed with requests in flight", "error", err)
	}
}
