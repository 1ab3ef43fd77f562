package server

import (
	"context"
	"errors"

	"pinion/runtime/jobqueue"
	"pinion/runtime/predict"
)

// jobTarget is a model, or a version of one, that gets jobs of a queue. It is also each slot that is reserved for one.
type jobTarget struct {
	*servedModel
	version string  // "" means the model has no versions
	target  *target // as one of several versions, or nil
	share   int     // of the jobs that name no version, in percent
}

var _ jobqueue.Slot = (*jobTarget)(nil)

// Version implements consume.Slot.
func (t *jobTarget) Version() string { return t.version }

// Release implements consume.Slot.
func (t *jobTarget) Release() { t.Service.ReleaseSlot() }

// Create implements jobqueue.Slot. The mirror gets a copy, where there is one.
func (t *jobTarget) Create(req predict.Request) (*predict.Prediction, error) {
	req.Version = t.version
	return t.target.create(req, t.Service.Create)
}

// VisibleInput implements jobqueue.Slot.
func (t *jobTarget) VisibleInput(kind predict.Kind, input []byte) []byte {
	return t.Service.VisibleInput(kind, input)
}

// check checks a request. One for a model that a job loads is accepted before its inputs are known: the server that
// runs the job checks it.
func (t *jobTarget) check(req *predict.Request, most int) (input []byte, warnings []string, err error) {
	if err := t.Lifecycle.Refusal(); err != nil {
		return nil, nil, err
	}
	input, warnings, err = t.Service.Check(req, most)
	if notReady := (*predict.NotReadyError)(nil); errors.As(err, &notReady) && t.Lifecycle.AcceptsOnDemand() {
		return nil, nil, nil
	}
	return input, warnings, err
}

// runsJobs reports whether the model runs jobs, now or as soon as a slot is free.
func (t *jobTarget) runsJobs() bool { return t.Lifecycle.IsReady() && t.Pool.Load().Capacity > 0 }

// free returns how many jobs the model could begin now.
func (t *jobTarget) free() int {
	if !t.Lifecycle.IsReady() {
		return 0
	}
	return t.Pool.Free()
}

// awaitFree waits until it could begin one, or ctx ends.
func (t *jobTarget) awaitFree(ctx context.Context) {
	for t.Lifecycle.AwaitReady(ctx) {
		if t.Service.AwaitCapacity(ctx) == 0 || t.Lifecycle.IsReady() {
			return
		}
	}
}
