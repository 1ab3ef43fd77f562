package protocol

import (
	"bytes"
	"errors"
	"slices"

	"pinion/runtime/predict"
)

// ErrNoControl refuses to load or unload a model for a client.
var ErrNoControl = errors.New(
	"this server does not load or unload models for clients: start it with --reload or --allow-model-control")

// NoControl returns the error for a client that may not ask for a model to be, for example, "loaded".
func NoControl(to string) string {
	return "Only a program on the server's own machine, and not through a proxy, or a client with a token may ask for a model to be " +
		to + "; --allow-model-control lets every client ask"
}

// LoadFor loads the model for a client. If may is false, the client is not allowed to ask for that.
func (m *Model) LoadFor(may bool) *Error { return m.change(may, "loaded", m.Load) }

// UnloadFor unloads the model for a client. If may is false, the client is not allowed to ask for that.
func (m *Model) UnloadFor(may bool) *Error { return m.change(may, "unloaded", m.Unload) }

func (m *Model) change(may bool, to string, do func() error) *Error {
	if !may {
		return Errorf(Forbidden, "%s", NoControl(to))
	}
	err := do()
	var notReady *predict.NotReadyError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNoControl):
		return Errorf(Forbidden, "%v", err)
	case errors.As(err, &notReady):
		return ErrorOf(err)
	}
	return Errorf(Failed, "model %q cannot be %s: %v", m.Name, to, err)
}

// forwarding are the headers with which proxies name their client, besides X-Forwarded and X-Forwarded-*.
var forwarding = [...]string{
	"Via", "Forwarded", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Forwarded-For",
	"X-Envoy-External-Address", "Cf-Connecting-Ip", "True-Client-Ip", "Fastly-Client-Ip", "Fly-Client-Ip",
}

// Forwards reports whether a header is one with which proxies name their client.
func Forwards(header []byte) bool {
	return len(header) >= 11 && bytes.EqualFold(header[:11], []byte("X-Forwarded")) ||
		slices.ContainsFunc(forwarding[:], func(name string) bool { return bytes.EqualFold(header, []byte(name)) })
}
