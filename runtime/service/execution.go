package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pinion/ipc"
	"pinion/ipc/bufpool"
	"pinion/runtime/files"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/schema"
	"pinion/runtime/slot"
)

// execution runs one prediction. It implements predict.Runner and slot.EventSink.
type execution struct {
	service  *Service
	p        *predict.Prediction
	prepared schema.Prepared
	spills   *spills        // nil: the body is in memory
	copied   int            // bytes of memory that a rewritten input takes
	uploader *uploader      // nil: output files are not uploaded
	outputs  *files.Outputs // nil: an output file is not answered as it is
	batched  bool           // runs in a batch
	model    *model         // nil until submit
	refused  string         // what is wrong with its output, which fails it
	items    int            // yielded items, if it is observed
	yielded  time.Duration  // from its arrival to the newest of them

	spans     *spans // nil: it is not traced
	arrived   time.Time
	transfers time.Duration // of files, before and after the model ran

	stopped atomic.Bool // see stop

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
	x.observe(&result, 0, reason)
	s.ended(x.p, result)
}

// sent is the prediction's call; nil until submit.
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

// freeShared gives the request's shared memory back, but what the model kept of it.
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
	call := slot.NewCall(predict.Clip(p.ID()), input, x.context())
	m := s.model.Load()
	x.model = m
	if p.Request.Tensors != nil {
		call.Parts = WithTensors(input, p.Request.Tensors)
	}
	call.Shared, call.Of = sharedFile(&p.Request), p
	call.Train = p.Request.Kind == predict.KindTraining || m.trainOnly
	if m.batched && !call.Train {
		x.batched, call.Key = true, keyOf(m.keys, input)
		if len(x.prepared.Files) > 0 || x.outputs != nil || x.uploader != nil {
			p.Hold() // the model may read its files after its end, until the whole batch is settled
			call.OnSettled = func() { go p.Release() }
		}
	}
	if x.spans != nil {
		x.spans.traced.Span = x.spans.prediction
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

// Started implements slot.EventSink, as do the next three methods.
func (x *execution) Started() { x.p.Begin(time.Now()) }

func (x *execution) Output(item []byte) {
	if items := x.p.Request.Items; items != nil {
		x.observeItem()
		if x.acceptsItem(withStandIns(item)) {
			items(item)
		}
		return
	}
	if !x.acceptsItem(item) {
		return
	}
	x.observeItem()
	if x.uploader != nil {
		x.uploader.add(item)
	} else if !x.p.Output(item) {
		x.stop()
	}
}

func (x *execution) Metric(metric []byte) {
	if !x.p.Metric(metric) {
		x.stop()
	}
}

func (x *execution) Log(source string, text []byte) { x.p.Log(source, text) }

// finish turns a call's result into the prediction's end, or into a refusal.
func (x *execution) finish(r *slot.Result) error {
	s, p := x.service, x.p
	result, begun := x.read(r)
	if !begun {
		x.observe(&result, r.Waited, failure(r))
		s.ended(p, result)
		return r.Err
	}
	result.Logs = r.Logs
	reason := failure(r)
	if !x.charge(r, &result) {
		result, reason = s.overBudget(&result), predict.ReasonMemory
	} else if x.checkOutput(&result); x.refused != "" {
		reason = predict.ReasonModel
	}
	if !x.finishFiles(&result) {
		reason = predict.ReasonFiles
	}
	x.releaseAnswer(r, &result)
	x.observe(&result, r.Waited, reason)
	if body := p.Request.Body; len(body) >= bufpool.Min && x.isRead() && (p.Observed() || !s.retains(p, &result)) {
		p.OnRelease(func() { bufpool.Put(body) })
	}
	s.ended(p, result)
	return nil
}

// finishFiles uploads or hands over the files of an output. It returns false where that failed the prediction.
func (x *execution) finishFiles(result *predict.Result) bool {
	before := result.Status
	if x.uploader != nil {
		began := time.Now()
		x.uploader.settle(result)
		x.transfers += time.Since(began)
	}
	if x.outputs != nil && !x.p.Request.WantPaths {
		x.handOver(result)
	}
	return result.Status == before
}

// releaseAnswer frees the memory of a worker's answer, now or with the prediction.
func (x *execution) releaseAnswer(r *slot.Result, result *predict.Result) {
	switch {
	case r.Release == nil:
	case !x.p.Observed() && x.service.retains(x.p, result): // retained without compaction: it must not point into r.Body
		result.Output = bytes.Clone(result.Output)
		result.Metrics = bytes.Clone(result.Metrics)
		r.Release()
	default:
		x.p.OnRelease(r.Release)
	}
}

// read converts a call's result. begun: the worker may have begun the prediction.
func (x *execution) read(r *slot.Result) (result predict.Result, begun bool) {
	if r.Err == nil {
		result = readAnswer(r, x.p.Observed())
		if x.p.Request.WantTensors {
			if result.Output, result.Tensors = WithoutTensors(result.Output, x.call.Shared); result.Tensors == nil &&
				ipc.HasTensor(result.Output) {
				return unreadable(r), true
			}
		}
		if r.Canceled { // as with Cog, even if the model returned or raised another exception
			result.Status, result.Output, result.Yielded, result.Error = predict.Canceled, nil, false, ""
		}
		if x.batched {
			result.Metrics = withQueueTime(result.Metrics, r.Waited)
		}
		return result, true
	}
	var exited *slot.WorkerExitError
	var late *slot.TimeoutError
	switch {
	case errors.Is(r.Err, slot.ErrCanceled):
		return predict.Result{Status: predict.Canceled, Elapsed: r.Elapsed}, true
	case errors.As(r.Err, &exited):
		return predict.Result{Status: predict.Failed, Error: exited.Cause, Elapsed: r.Elapsed}, true
	case errors.As(r.Err, &late):
		return predict.Result{Status: predict.Failed, Error: late.Error(), Elapsed: r.Elapsed}, true
	default: // ErrQueueTimeout, NotReadyError
		return predict.Result{Status: predict.Failed, Error: r.Err.Error()}, false
	}
}

// maxAnonymous is the largest prediction in bytes that is retained although its client gave no id and has its answer:
// it is unlikely to be requested again.
const maxAnonymous = 16 << 10

// size estimates how many bytes a retained prediction takes.
func size(p *predict.Prediction, r *predict.Result) int {
	in := max(cap(p.Request.Body), len(p.Request.Input)+len(p.Request.Context), int(p.Request.Charged))
	return 1<<10 + in + len(r.Output) + len(r.Logs) + len(r.Metrics) + len(r.Error)
}

// retains reports whether a prediction with this result can be requested afterwards.
func (s *Service) retains(p *predict.Prediction, r *predict.Result) bool {
	return p.Observed() || p.File() == nil && r.Tensors == nil && size(p, r) <= maxAnonymous
}

// ended publishes a prediction's end. Its id is free before a client can see the end.
func (s *Service) ended(p *predict.Prediction, r predict.Result) {
	retained, now := s.retains(p, &r), time.Now()
	if retained {
		s.registry.Finish(p, size(p, &r), now)
	} else {
		s.registry.Remove(p)
	}
	if p.End(r, now); !retained || r.Status == predict.Failed {
		s.note(p, r.Status, retained)
	}
}

// readAnswer reads the result in a worker's answer. A success without an output stands for the yielded items, which
// only an observed prediction has.
func readAnswer(r *slot.Result, observed bool) predict.Result {
	a, ok := ipc.ParseAnswer(r.Kind, r.Body)
	result := predict.Result{Elapsed: r.Elapsed, Metrics: a.Metrics}
	switch r.Kind {
	case ipc.KindSucceeded:
		result.Status, result.Output = predict.Succeeded, a.Output
		result.Yielded = observed && a.Output == nil
		ok = ok && (observed || a.Output != nil)
	case ipc.KindFailed:
		result.Status, result.Error = predict.Failed, rawjson.Text(a.Error)
	default:
		result.Status = predict.Canceled
	}
	if !ok {
		return unreadable(r)
	}
	return result
}

// unreadable is the result of an answer that our workers never send.
func unreadable(r *slot.Result) predict.Result {
	return predict.Result{
		Status: predict.Failed, Elapsed: r.Elapsed,
		Error: fmt.Sprintf("the worker's answer cannot be read: %.100q", r.Body),
	}
}
