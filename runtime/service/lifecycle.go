package service

import "time"

// Lifecycle lets requests into a model that may not be loaded. Each that has entered leaves once it is a prediction, or
// is refused.
type Lifecycle interface {
	// Enter may load the model. deadline is the request's, or zero; callers are the models that wait for it.
	Enter(deadline time.Time, callers []string) error
	// TryEnter is Enter without a wait; false means the model is not ready.
	TryEnter() bool
	Leave()
}

// alwaysLoaded is the Lifecycle of a model that is never unloaded.
type alwaysLoaded struct{}

func (alwaysLoaded) Enter(time.Time, []string) error { return nil }
func (alwaysLoaded) TryEnter() bool                  { return true }
func (alwaysLoaded) Leave()                          {}
