package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"pinion/runtime/files"
	"pinion/runtime/predict"
)

// outbox passes on what a prediction yields, in its order: items that name files once these are uploaded.
// Uploads run beside the prediction.
type outbox struct {
	p       *predict.Prediction
	uploads *files.Uploads
	ctx     context.Context
	failed  func() // called once, when an upload has failed for good

	mu      sync.Mutex
	waiting []*parcel // in order; the first is the one that is waited for
	idle    sync.Cond // waiting is empty
	err     error
}

// parcelCost is about how many bytes an item that waits takes beside its own: it may have a goroutine that uploads its files.
const parcelCost = 4 << 10

// parcel is one item.
type parcel struct {
	item []byte
	cost int // bytes that the prediction was charged for it
	err  error
	done chan struct{} // closed when item is final; nil: it is
}

// uploads tells whether a prediction's output files are uploaded.
func (s *Service) uploads(p *predict.Prediction) bool {
	return s.o.UploadURL != "" || p.Request.OutputPrefix != ""
}

// newOutbox makes room for a prediction's output files. ctx ends the uploads.
func (s *Service) newOutbox(ctx context.Context, j *job) (*outbox, error) {
	req := &j.p.Request
	to := files.Destination{Prefix: req.OutputPrefix, TraceParent: req.TraceParent, TraceState: req.TraceState, Prediction: j.p.ID(), RequestID: req.RequestID}
	if to.Prefix == "" || to.Prefix == s.o.UploadURL {
		to.Prefix, to.Trusted = s.o.UploadURL, true
	}
	uploads, err := s.o.Files.NewUploads(j.p.ID(), to)
	if err != nil {
		return nil, fmt.Errorf("make room for output files: %w", err)
	}
	j.p.OnRelease(uploads.Close)
	o := &outbox{p: j.p, uploads: uploads, ctx: ctx, failed: func() { j.stop() }}
	o.idle.L = &o.mu
	return o, nil
}

// add takes an item in. It does not block.
func (o *outbox) add(item []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	named := bytes.Contains(item, []byte(o.uploads.Token()))
	if !named && len(o.waiting) == 0 {
		o.output(item)
		return
	}
	cost := len(item) + parcelCost
	if !o.p.Afford(cost) {
		o.p.Overrun()
		go o.failed()
		return
	}
	c := &parcel{item: bytes.Clone(item), cost: cost}
	if named {
		c.done = make(chan struct{})
		go func() {
			defer close(c.done)
			c.item, c.err = o.uploads.Resolve(o.ctx, c.item)
		}()
	}
	o.waiting = append(o.waiting, c)
	if len(o.waiting) == 1 {
		go o.deliver()
	}
}

// output tells of an item, and ends the prediction where the memory budget has no room for it. Called with the lock held.
func (o *outbox) output(item []byte) {
	if !o.p.Output(item) {
		go o.failed()
	}
}

// deliver passes on what waits, until nothing does.
func (o *outbox) deliver() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.waiting) > 0 {
		c := o.waiting[0]
		if c.done != nil {
			o.mu.Unlock()
			<-c.done
			o.mu.Lock()
		}
		if c.err != nil && o.err == nil {
			o.err = c.err
			o.failed()
		}
		if o.err == nil {
			o.output(c.item)
		}
		o.p.Refund(c.cost)
		o.waiting[0] = nil
		o.waiting = o.waiting[1:]
	}
	o.idle.Broadcast()
}

// settle waits for the uploads of a prediction that the model has ended, and gives the result its final
// output: an upload that failed fails the prediction.
func (o *outbox) settle(r *predict.Result) {
	if r.Status == predict.Succeeded && r.Output != nil {
		output, err := o.uploads.Resolve(o.ctx, r.Output)
		r.Output = output
		o.fail(err)
	}
	o.mu.Lock()
	for len(o.waiting) > 0 {
		o.idle.Wait()
	}
	err := o.err
	o.mu.Unlock()
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		r.Status, r.Output, r.Yielded = predict.Canceled, nil, false
	default:
		r.Status, r.Output, r.Yielded, r.Error = predict.Failed, nil, false, err.Error()
	}
}

func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
}
