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

// job runs one prediction. It implements predict.Runner and slot.EventSink.
type job struct {
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

func (j *job) Submit(*predict.Prediction) {
	if !j.transfersFirst() {
		j.submit(j.prepared.Input)
	}
}

// transfersFirst reports whether files must be fetched, or an output folder made, before the model can run.
func (j *job) transfersFirst() bool {
	return len(j.prepared.Files) > 0 || j.service.uploads(&j.p.Request) || j.service.handsOver(j.p)
}

// Run runs p and returns when it has ended. By then its slot and its id are free.
func (j *job) Run(*predict.Prediction) error {
	if j.call == nil {
		input, err := j.prepared.Input, error(nil)
		if j.transfersFirst() {
			ctx, abort := context.WithCancel(context.Background())
			defer abort()
			j.abortWith(abort)
			began := time.Now()
			j.beginFetching(began)
			input, err = j.files(ctx)
			j.transfers = time.Since(began)
		}
		if err != nil {
			j.filesFailed(err)
			return nil
		}
		j.submit(input)
	}
	j.call.Wait()
	return j.finish(&j.call.Result)
}

// beginFetching moves the prediction to processing when its files are fetched, if a slot is free, as Cog does. Else it
// begins when a worker has it.
func (j *job) beginFetching(now time.Time) {
	if load := j.service.o.Pool.Load(); len(j.prepared.Files) > 0 && load.InFlight <= load.Capacity {
		j.p.Begin(now)
	}
}

func (j *job) filesFailed(err error) {
	s := j.service
	s.o.Pool.Withdraw(j.p.Request.Group)
	result, reason := predict.Result{Status: predict.Failed, Error: err.Error()}, predict.ReasonFiles
	switch {
	case errors.Is(err, context.Canceled):
		result = predict.Result{Status: predict.Canceled}
	case errors.Is(err, memory.ErrFull):
		result, reason = s.overBudget(&result), predict.ReasonMemory
	}
	j.observe(&result, 0, reason)
	s.ended(j.p, result)
}

// sent is the prediction's call; nil until submit.
func (j *job) sent() *slot.Call {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.call
}

// isRead reports whether no worker may still be receiving the input from the front's memory. That is certain only after
// a normal answer, and only if the call was sent once.
func (j *job) isRead() bool {
	call := j.sent()
	return call == nil || call.Result.Err == nil && !call.Result.Resent
}

// freeShared gives the request's shared memory back, but what the model kept of it.
func (j *job) freeShared(shared *memory.Shared) {
	if call := j.sent(); call != nil && call.Result.Kept {
		shared.Leave()
		return
	}
	shared.Free(j.isRead())
}

// submit enters the prediction in the pool. Its caller waits for the call next.
func (j *job) submit(input []byte) { j.service.o.Pool.Submit(j.newCall(input)) }

// newCall makes the prediction's call. Its caller submits it next.
func (j *job) newCall(input []byte) *slot.Call {
	s, p := j.service, j.p
	call := slot.NewCall(predict.Clip(p.ID()), input, j.context())
	m := s.model.Load()
	j.model = m
	if p.Request.Tensors != nil {
		call.Parts = WithTensors(input, p.Request.Tensors)
	}
	call.Shared, call.Of = sharedFile(&p.Request), p
	call.Train = p.Request.Kind == predict.KindTraining || m.trainOnly
	if m.batched && !call.Train {
		j.batched, call.Key = true, keyOf(m.keys, input)
		if len(j.prepared.Files) > 0 || j.outputs != nil || j.uploader != nil {
			p.Hold() // the model may read its files after its end, until the whole batch is settled
			call.OnSettled = func() { go p.Release() }
		}
	}
	if j.spans != nil {
		j.spans.traced.Span = j.spans.prediction
		call.Traced = &j.spans.traced
	}
	call.Deadline, call.Group = p.Request.Deadline, p.Request.Group
	if p.Request.Disk != nil {
		call.BodyFile = s.o.Files.Spool
	}
	if p.Observed() {
		call.Events = j
	}
	switch {
	case j.uploader != nil:
		call.Files = ipc.FilesMember(j.uploader.uploads.Folder(), j.uploader.uploads.Token(), false)
	case j.outputs != nil:
		call.Files = ipc.FilesMember(j.outputs.Folder(), j.outputs.Token(), p.Request.WantTensors)
	case p.Request.WantTensors:
		call.Files = ipc.TensorsMember()
	}
	j.mu.Lock()
	j.call = call
	canceled := j.cancel
	j.mu.Unlock()
	if canceled {
		s.o.Pool.Cancel(call)
	}
	return call
}

// abortWith makes Cancel end the transfers in progress.
func (j *job) abortWith(abort context.CancelFunc) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.abort = abort
	if j.cancel {
		abort()
	}
}

// files fetches a prediction's files and returns its input with their paths. It also makes the folder for output files.
func (j *job) files(ctx context.Context) ([]byte, error) {
	s, p := j.service, j.p
	input := j.prepared.Input
	if len(j.prepared.Files) > 0 {
		fetched, cleanup, err := s.o.Files.Fetch(p.Request.Trace.In(ctx), p.ID(), j.prepared)
		if err != nil {
			return nil, err
		}
		p.OnRelease(cleanup)
		if size := cap(fetched); size >= memory.Least && !aliases(fetched, input) && !p.Charge(size) {
			return nil, memory.ErrFull
		}
		input = fetched
	}
	if s.uploads(&p.Request) {
		o, err := s.newUploader(ctx, j)
		if err != nil {
			return nil, err
		}
		j.uploader = o
	} else if s.handsOver(p) {
		o, err := s.o.Files.NewOutputs(p.ID())
		if err != nil {
			return nil, fmt.Errorf("make room for output files: %w", err)
		}
		p.OnRelease(o.Close)
		j.outputs = o
		if p.Request.WantPaths {
			p.SetFolder(predict.OutputFolder{Path: o.Folder(), Token: o.Token()})
		}
	}
	return input, nil
}

func (j *job) Cancel(*predict.Prediction) {
	j.mu.Lock()
	j.cancel = true
	call, abort := j.call, j.abort
	j.mu.Unlock()
	if abort != nil {
		abort()
	}
	if call != nil {
		j.service.o.Pool.Cancel(call)
	}
}

// stop cancels the call of a prediction that failed in the front. It does not block, as the pool may be locked by its
// caller. Only the first call has an effect: until the model has ended, it may yield thousands of items in vain.
func (j *job) stop() {
	if j.stopped.Swap(true) {
		return
	}
	go func() {
		if call := j.sent(); call != nil {
			j.service.o.Pool.Cancel(call)
		}
	}()
}

// Started implements slot.EventSink, as do the next three methods.
func (j *job) Started() { j.p.Begin(time.Now()) }

func (j *job) Output(item []byte) {
	if items := j.p.Request.Items; items != nil {
		j.observeItem()
		if j.acceptsItem(withStandIns(item)) {
			items(item)
		}
		return
	}
	if !j.acceptsItem(item) {
		return
	}
	j.observeItem()
	if j.uploader != nil {
		j.uploader.add(item)
	} else if !j.p.Output(item) {
		j.stop()
	}
}

func (j *job) Metric(metric []byte) {
	if !j.p.Metric(metric) {
		j.stop()
	}
}

func (j *job) Log(source string, text []byte) { j.p.Log(source, text) }

// finish turns a call's result into the prediction's end, or into a refusal.
func (j *job) finish(r *slot.Result) error {
	s, p := j.service, j.p
	result, begun := j.read(r)
	if !begun {
		j.observe(&result, r.Waited, failure(r))
		s.ended(p, result)
		return r.Err
	}
	result.Logs = r.Logs
	reason := failure(r)
	if !j.charge(r, &result) {
		result, reason = s.overBudget(&result), predict.ReasonMemory
	} else if j.checkOutput(&result); j.refused != "" {
		reason = predict.ReasonModel
	}
	if !j.finishFiles(&result) {
		reason = predict.ReasonFiles
	}
	j.releaseAnswer(r, &result)
	j.observe(&result, r.Waited, reason)
	if body := p.Request.Body; len(body) >= bufpool.Min && j.isRead() && (p.Observed() || !s.retains(p, &result)) {
		p.OnRelease(func() { bufpool.Put(body) })
	}
	s.ended(p, result)
	return nil
}

// finishFiles uploads or hands over the files of an output. It returns false where that failed the prediction.
func (j *job) finishFiles(result *predict.Result) bool {
	before := result.Status
	if j.uploader != nil {
		began := time.Now()
		j.uploader.settle(result)
		j.transfers += time.Since(began)
	}
	if j.outputs != nil && !j.p.Request.WantPaths {
		j.handOver(result)
	}
	return result.Status == before
}

// releaseAnswer frees the memory of a worker's answer, now or with the prediction.
func (j *job) releaseAnswer(r *slot.Result, result *predict.Result) {
	switch {
	case r.Release == nil:
	case !j.p.Observed() && j.service.retains(j.p, result): // retained without compaction: it must not point into r.Body
		result.Output = bytes.Clone(result.Output)
		result.Metrics = bytes.Clone(result.Metrics)
		r.Release()
	default:
		j.p.OnRelease(r.Release)
	}
}

// read converts a call's result. begun: the worker may have begun the prediction.
func (j *job) read(r *slot.Result) (result predict.Result, begun bool) {
	if r.Err == nil {
		result = readAnswer(r, j.p.Observed())
		if j.p.Request.WantTensors {
			if result.Output, result.Tensors = WithoutTensors(result.Output, j.call.Shared); result.Tensors == nil &&
				ipc.HasTensor(result.Output) {
				return unreadable(r), true
			}
		}
		if r.Canceled { // as with Cog, even if the model returned or raised another exception
			result.Status, result.Output, result.Yielded, result.Error = predict.Canceled, nil, false, ""
		}
		if j.batched {
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
