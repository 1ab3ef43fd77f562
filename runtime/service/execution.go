package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pinion/ipc"
	"pinion/runtime/files"
	"pinion/runtime/logtext"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/schema"
	"pinion/runtime/slot"
)

// execution runs one prediction. It implements predict.Runner and slot.EventSink.
type execution struct {
	service  *Service
	p        *predict.Prediction
	prepared schema.Prepared
	spills   *spills        // nil means the body is in memory
	copied   int            // bytes of memory that a rewritten input takes
	uploader *uploader      // nil means output files are not uploaded
	outputs  *files.Outputs // nil means an output file is not answered as it is
	batched  bool           // runs in a batch
	model    *model         // its function, as its workers reported last
	refused  string         // what is wrong with its output, which fails it
	items    int            // yielded items, if it is observed
	yielded  time.Duration  // from its arrival to the newest of them

	spans     *spans // nil means it is not traced
	arrived   time.Time
	transfers time.Duration // of files, before and after the model ran

	stopped atomic.Bool // see stop
	pacing  atomic.Bool // the model is paused for lagging subscribers

	mu     sync.Mutex
	call   *slot.Call         // nil until submit
	abort  context.CancelFunc // aborts the transfers in progress
	cancel bool
}

func (x *execution) Submit(*predict.Prediction) {
	if !x.transfersFirst() {
		x.submit(x.prepared.Input)
	}
}

// transfersFirst reports whether files must be fetched, or an output folder made, before the model can run.
func (x *execution) transfersFirst() bool {
	return len(x.prepared.Files) > 0 || x.service.uploads(&x.p.Request) || x.service.handsOver(x.p)
}

// Run runs p and returns when it has ended. By then its slot and its id are free.
func (x *execution) Run(*predict.Prediction) error {
	if x.call == nil {
		input, err := x.prepared.Input, error(nil)
		if x.transfersFirst() {
			ctx, abort := context.WithCancel(context.Background())
			defer abort()
			x.abortWith(abort)
			began := time.Now()
			x.beginFetching(began)
			input, err = x.files(ctx)
			x.transfers = time.Since(began)
		}
		if err != nil {
			x.filesFailed(err)
			return nil
		}
		x.submit(input)
	}
	x.call.Wait()
	return x.finish(&x.call.Result)
}

// beginFetching moves the prediction to processing when its files are fetched, if a slot is free, as Cog does. Else it
// begins when a worker has it.
func (x *execution) beginFetching(now time.Time) {
	if load := x.service.o.Pool.Load(); len(x.prepared.Files) > 0 && load.InFlight <= load.Capacity {
		x.p.Begin(now)
	}
}

func (x *execution) filesFailed(err error) {
	s := x.service
	s.o.Pool.Withdraw(x.p.Request.Group)
	result, reason := predict.Result{Status: predict.Failed, Error: err.Error()}, predict.ReasonFiles
	switch {
	case errors.Is(err, context.Canceled):
		result = predict.Result{Status: predict.Canceled}
	case errors.Is(err, memory.ErrFull):
		result, reason = s.overBudget(&result), predict.ReasonMemory
	}
	now := time.Now()
	x.observe(&result, 0, reason, now)
	s.ended(x.p, result, now)
}

// sent returns the prediction's call; nil until submit.
func (x *execution) sent() *slot.Call {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.call
}

// isRead reports whether no worker may still be receiving the input from the front's memory. That is certain only after
// a normal answer, and only if the call was sent once.
func (x *execution) isRead() bool {
	call := x.sent()
	return call == nil || call.Result.Err == nil && !call.Result.Resent
}

// freeShared gives the request's shared memory back, except what the model kept of it.
func (x *execution) freeShared(shared *memory.Shared) {
	if call := x.sent(); call != nil && call.Result.Kept {
		shared.Leave()
		return
	}
	shared.Free(x.isRead())
}

// submit enters the prediction in the pool. Its caller waits for the call next.
func (x *execution) submit(input []byte) { x.service.o.Pool.Submit(x.newCall(input)) }

// newCall makes the prediction's call. Its caller submits it next.
func (x *execution) newCall(input []byte) *slot.Call {
	s, p := x.service, x.p
	call := slot.NewCall(logtext.Clip(p.ID()), input, x.context())
	if m := s.model.Load().of(p.Request.Function); m != nil { // else a reload has removed it: the worker refuses
		x.model = m
	}
	m := x.model
	if p.Request.Tensors != nil {
		call.Parts = WithTensors(input, p.Request.Tensors)
	}
	x.observeSession(true)
	call.Shared, call.Of, call.Inlet = sharedFile(&p.Request), p, p.Request.Inlet
	call.Train = p.Request.Kind == predict.KindTraining || m.trainOnly
	if m.batched && !call.Train {
		if x.batched, call.Key = true, keyOf(m.keys, input); p.Request.Function != "" {
			call.Key = p.Request.Function + " " + call.Key
		}
		if len(x.prepared.Files) > 0 || x.outputs != nil || x.uploader != nil {
			p.Hold() // the model may read its files after its end, until the whole batch is settled
			call.OnSettled = func() { go p.Release() }
		}
	}
	if x.spans != nil {
		call.Traced = &x.spans.traced
	}
	call.Deadline, call.Group = p.Request.Deadline, p.Request.Group
	if p.Request.Disk != nil {
		call.BodyFile = s.o.Files.Spool
	}
	if p.Observed() {
		call.Events = x
	}
	switch {
	case x.uploader != nil:
		call.Files = ipc.FilesMember(x.uploader.uploads.Folder(), x.uploader.uploads.Token(), false)
	case x.outputs != nil:
		call.Files = ipc.FilesMember(x.outputs.Folder(), x.outputs.Token(), p.Request.WantTensors)
	case p.Request.WantTensors:
		call.Files = ipc.TensorsMember()
	}
	x.mu.Lock()
	x.call = call
	canceled := x.cancel
	x.mu.Unlock()
	if canceled {
		s.o.Pool.Cancel(call)
	}
	return call
}

// abortWith makes Cancel end the transfers in progress.
func (x *execution) abortWith(abort context.CancelFunc) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.abort = abort
	if x.cancel {
		abort()
	}
}

// files fetches a prediction's files and returns its input with their paths. It also makes the folder for output files.
func (x *execution) files(ctx context.Context) ([]byte, error) {
	s, p := x.service, x.p
	input := x.prepared.Input
	if len(x.prepared.Files) > 0 {
		fetched, cleanup, err := s.o.Files.Fetch(p.Request.Trace.In(ctx), p.ID(), x.prepared)
		if err != nil {
			return nil, err
		}
		p.OnRelease(cleanup)
		if size := cap(fetched); size >= memory.MinCharge && !aliases(fetched, input) && !p.Charge(size) {
			return nil, memory.ErrFull
		}
		input = fetched
	}
	if s.uploads(&p.Request) {
		o, err := s.newUploader(ctx, x)
		if err != nil {
			return nil, err
		}
		x.uploader = o
	} else if s.handsOver(p) {
		o, err := s.o.Files.NewOutputs(p.ID())
		if err != nil {
			return nil, fmt.Errorf("make room for output files: %w", err)
		}
		p.OnRelease(o.Close)
		x.outputs = o
		if p.Request.WantPaths {
			p.SetFolder(predict.OutputFolder{Path: o.Folder(), Token: o.Token()})
		}
	}
	return input, nil
}

func (x *execution) Cancel(*predict.Prediction) {
	x.mu.Lock()
	x.cancel = true
	call, abort := x.call, x.abort
	x.mu.Unlock()
	if abort != nil {
		abort()
	}
	if call != nil {
		x.service.o.Pool.Cancel(call)
	}
}

// stop cancels the call of a prediction that failed in the front. It does not block, as the pool may be locked by its
// caller. Only the first call has an effect: until the model has ended, it may yield thousands of items in vain.
func (x *execution) stop() {
	if x.stopped.Swap(true) {
		return
	}
	go func() {
		if call := x.sent(); call != nil {
			x.service.o.Pool.Cancel(call)
		}
	}()
}

// pause makes the model wait before it yields more items, or lets it go on.
func (x *execution) pause(paused bool) {
	if call := x.sent(); call != nil {
		x.service.o.Pool.Pause(call, paused)
	}
}

// Started implements slot.EventSink, as do the next four methods.
func (x *execution) Started() { x.p.Begin(time.Now()) }

func (x *execution) Output(item []byte, alone bool) {
	if items := x.p.Request.Items; items != nil {
		x.observeItem()
		if x.acceptsItem(withPlaceholders(item)) {
			items(item, x.pause)
		}
		return
	}
	if !x.acceptsItem(item) {
		return
	}
	x.observeItem()
	if o := x.service.o.Observer; o != nil && x.p.Request.Inlet != nil {
		o.StreamItem(true, len(item))
	}
	if x.uploader != nil {
		x.uploader.add(item)
		return
	}
	lagging, fits := x.p.Yield(item)
	if !fits {
		x.stop()
	}
	if lagging == nil {
		return
	}
	x.p.Flush()
	if alone {
		x.p.Pace(lagging)
	} else if !x.pacing.Swap(true) { // the goroutine that calls has others to serve, so the model waits
		go func() {
			x.pause(true)
			x.p.Pace(lagging)
			x.pause(false)
			x.pacing.Store(false)
		}()
	}
}

func (x *execution) Flush() { x.p.Flush() }

func (x *execution) Metric(metric []byte) {
	if !x.p.Metric(metric) {
		x.stop()
	}
}

func (x *execution) Log(source string, text []byte) { x.p.Log(source, text) }
