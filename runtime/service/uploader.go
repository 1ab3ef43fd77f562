package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"pinion/runtime/files"
	"pinion/runtime/predict"
)

// uploader emits a prediction's items in order, each after its files are uploaded. Uploads run while the model
// continues.
type uploader struct {
	p       *predict.Prediction
	uploads *files.Uploads
	ctx     context.Context
	failed  func() // ends the prediction: an upload has failed for good, or memory is short; it does not block

	mu      sync.Mutex
	pending []*pendingOutput // in order; deliver waits for the first
	idle    sync.Cond        // pending is empty
	err     error
}

// pendingOutputCost is about how many bytes a pending item takes besides its own: a goroutine may upload its files.
const pendingOutputCost = 4 << 10

// pendingOutput is an item that waits for uploads, its own or those before it.
type pendingOutput struct {
	item []byte
	cost int // bytes charged to the prediction
	err  error
	done chan struct{} // closed when item is final; nil means already final
}

// uploads reports whether the output files of a request's prediction are uploaded.
func (s *Service) uploads(req *predict.Request) bool {
	return (s.o.UploadURL != "" || req.OutputPrefix != "") && !req.WantPaths
}

// newUploader makes the folder for a prediction's output files. ctx ends the uploads.
func (s *Service) newUploader(ctx context.Context, x *execution) (*uploader, error) {
	req := &x.p.Request
	to := files.Destination{
		Prefix: req.OutputPrefix, Propagation: req.Propagation, Prediction: x.p.ID(),
	}
	if to.Trace = req.Trace; to.Trace != nil {
		to.TraceParent, to.TraceState = "", "" // such URLs are often signed
	}
	if to.Prefix == "" || to.Prefix == s.o.UploadURL {
		to.Prefix, to.Trusted = s.o.UploadURL, true
	}
	uploads, err := s.o.Files.NewUploads(x.p.ID(), to)
	if err != nil {
		return nil, fmt.Errorf("make room for output files: %w", err)
	}
	x.p.OnRelease(uploads.Close)
	o := &uploader{p: x.p, uploads: uploads, ctx: ctx, failed: x.stop}
	o.idle.L = &o.mu
	return o, nil
}

// add enters an item. It does not block.
func (o *uploader) add(item []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	named := bytes.Contains(item, []byte(o.uploads.Token()))
	if !named && len(o.pending) == 0 {
		o.output(item)
		return
	}
	cost := len(item) + pendingOutputCost
	if !o.p.Charge(cost) {
		o.p.SetOverBudget()
		o.failed()
		return
	}
	c := &pendingOutput{item: bytes.Clone(item), cost: cost}
	if named {
		c.done = make(chan struct{})
		chunk := o.uploads.Chunk(c.item) // now, because files of one name are uploaded in the order of the items
		go func() {
			defer close(c.done)
			c.item, c.err = chunk.Resolve(o.ctx)
		}()
	}
	o.pending = append(o.pending, c)
	if len(o.pending) == 1 {
		go o.deliver()
	}
}

// output emits an item, and ends the prediction if the item does not fit into the memory budget. Called with the lock
// held.
func (o *uploader) output(item []byte) {
	if !o.p.Output(item) {
		o.failed()
	}
}

// deliver emits the pending items until none is left.
func (o *uploader) deliver() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.pending) > 0 {
		c := o.pending[0]
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
		o.pending[0] = nil
		o.pending = o.pending[1:]
	}
	o.idle.Broadcast()
}

// settle waits for the uploads after the model has ended, and sets the result's final output. A failed upload fails the
// prediction.
func (o *uploader) settle(r *predict.Result) {
	var err error
	if r.Status == predict.Succeeded && r.Output != nil {
		r.Output, err = o.uploads.Resolve(o.ctx, r.Output)
	}
	o.mu.Lock()
	o.err = cmp.Or(o.err, err)
	for len(o.pending) > 0 {
		o.idle.Wait()
	}
	err = o.err
	o.mu.Unlock()
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		r.Status, r.Output, r.Yielded = predict.Canceled, nil, false
	default:
		r.Status, r.Output, r.Yielded, r.Error = predict.Failed, nil, false, err.Error()
	}
}
