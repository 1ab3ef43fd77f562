package server

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/modelhost"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/httpd/place"
	"pinion/runtime/predict"
)

// reloader returns what POST /reload calls, at the root or below /models, where that is allowed.
func (f *Server) reloader(of func() *servedModel) func() (string, error) {
	if !f.s.Exposure.ModelControl() {
		return nil
	}
	return func() (string, error) {
		m := of()
		if m == nil {
			return "", place.ErrNoModel
		}
		return m.Reload("POST /reload")
	}
}

// onHangup calls reload for each SIGHUP. At a terminal it means that the terminal is gone, and ends the process as
// ever; and where it was set to be ignored, as nohup does, it is.
func onHangup(reload func()) {
	if terminal.IsTerminal(os.Stdin) || terminal.IsTerminal(os.Stderr) || signal.Ignored(syscall.SIGHUP) {
		return
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			reload()
		}
	}()
}

// watchReload has SIGHUP reload the models and the tokens, or read the file of models again.
func (f *Server) watchReload() {
	var last *reading
	onHangup(func() {
		if f.read.File != nil {
			last = f.readAgain(last)
			return
		}
		if len(f.models.all()) == 0 { // else the reload of a model does
			f.auth.Reload()
		}
		for _, m := range f.models.all() {
			_, _ = m.Reload("SIGHUP") // it has logged its error
		}
	})
}

// changer returns what POST /models/{name}/load or unload calls, where that is allowed.
func (m *servedModel) changer(verb string, change func(*modelhost.Lifecycle) error) func() error {
	if !m.server.s.Exposure.ModelControl() {
		return nil
	}
	return func() error {
		m.Log.Info(verb+"ing", "asked_by", "a client")
		err := change(m.Lifecycle)
		var full *modelhost.NoRoomError
		if errors.As(err, &full) || errors.Is(err, modelhost.ErrClosed) {
			return &predict.NotReadyError{Reason: err.Error(), RetryAfter: time.Second}
		}
		return err
	}
}

// loader loads the model for a client; nil means no client may ask.
func (m *servedModel) loader() func() error {
	return m.changer("load", func(l *modelhost.Lifecycle) error { return l.Load(context.Background(), true) })
}

// unloader unloads the model for a client; nil means no client may ask. A request loads a model again whose way that
// is.
func (m *servedModel) unloader() func() error {
	return m.changer("unload", func(l *modelhost.Lifecycle) error {
		return l.Unload(context.Background(), m.of.Settings.Loading.When == config.AtStartup)
	})
}
