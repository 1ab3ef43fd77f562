package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pinion/ipc"
	"pinion/runtime/files"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/schema"
	"pinion/runtime/slot"
	"pinion/runtime/spare"
)

// job carries one prediction out. It implements predict.Runner and slot.Teller.
type job struct {
	service  *Service
	p        *predict.Prediction
	prepared schema.Prepared
	outbox   *outbox        // nil: output files are not uploaded
	outputs  *files.Outputs // nil: they are not handed over as they are
	rides    bool           // with others, in a batch
	model    *model         // that has it; nil until its files are there
	refused  string         // what is wrong with its output, which fails it
	items    int            // that it yielded, where somebody follows it

	arrived   time.Time
	transfers time.Duration // of files, before and after the model had it

	mu     sync.Mutex
	call   *slot.Call         // nil until its files are there
	abort  context.CancelFunc // of the transfers in progress
	cancel bool
}

// Submit implements predict.Runner.
func (j *job) Submit(*predict.Prediction) {
	if !j.transfersFirst() {
		j.submit(j.prepared.Input)
	}
}

// transfersFirst tells whether files are to be fetched, or room to be made for some, before the model can have it.
func (j *job) transfersFirst() bool {
	return len(j.prepared.Files) > 0 || j.service.uploads(j.p) || j.service.handsOver(j.p)
}

// Run carries p out and returns when it has ended. By then its place is free, and its id too.
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

// beginFetching begins the prediction with the transfer of its files, where a slot is free for it, as with Cog. Where it would
// wait for one it begins when the model has it, as others do.
func (j *job) beginFetching(now time.Time) {
	if load := j.service.o.Pool.Load(); len(j.prepared.Files) > 0 && load.InFlight <= load.Places {
		j.p.Begin(now)
	}
}

// filesFailed ends a prediction whose files are not there.
func (j *job) filesFailed(err error) {
	s := j.service
	s.o.Pool.Leave()
	result := predict.Result{Status: predict.Failed, Error: err.Error()}
	if errors.Is(err, context.Canceled) {
		result = predict.Result{Status: predict.Canceled}
	}
	j.observe(&result, 0, reasonFiles)
	s.ended(j.p, result)
}

// submit hands the prediction over to the workers; whoever calls it waits for the call next.
func (j *job) submit(input []byte) {
	s, p := j.service, j.p
	call := slot.NewCall(predict.Clip(p.ID()), input, contextOf(&p.Request))
	m := s.model.Load()
	j.model = m
	call.Train = p.Request.Kind == predict.KindTraining || m.trainOnly
	if m.batched && !call.Train {
		j.rides, call.Key = true, keyOf(m.keys, input)
		if len(j.prepared.Files) > 0 || j.outputs != nil || j.outbox != nil {
			p.Hold() // its files: the model may have them after its end, with those of others
			call.Gone = func() { go p.Release() }
		}
	}
	call.Deadline = p.Request.Deadline
	if p.Told() {
		call.Tell = j
	}
	if j.outbox != nil {
		call.Files = filesMember(j.outbox.uploads)
	} else if j.outputs != nil {
		call.Files = filesMember(j.outputs)
	}
	j.mu.Lock()
	j.call = call
	canceled := j.cancel
	j.mu.Unlock()
	if canceled {
		s.o.Pool.Cancel(call)
	}
	s.o.Pool.Submit(call)
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

// files brings a prediction's files to its folder and returns its input with their paths, and makes room
// for those that are to be uploaded.
func (j *job) files(ctx context.Context) ([]byte, error) {
	s, p := j.service, j.p
	input := j.prepared.Input
	if len(j.prepared.Files) > 0 {
		fetched, cleanup, err := s.o.Files.Fetch(ctx, p.ID(), j.prepared)
		if err != nil {
			return nil, err
		}
		p.OnRelease(cleanup)
		input = fetched
	}
	if s.uploads(p) {
		o, err := s.newOutbox(ctx, j)
		if err != nil {
			return nil, err
		}
		j.outbox = o
	} else if s.handsOver(p) {
		o, err := s.o.Files.NewOutputs(p.ID())
		if err != nil {
			return nil, fmt.Errorf("make room for output files: %w", err)
		}
		p.OnRelease(o.Close)
		j.outputs = o
	}
	return input, nil
}

// Cancel asks for the prediction's end.
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

// stop ends the call, whose prediction has failed elsewhere.
func (j *job) stop() {
	j.mu.Lock()
	call := j.call
	j.mu.Unlock()
	if call != nil {
		j.service.o.Pool.Cancel(call)
	}
}

// Started implements slot.Teller, and so do the next three.
func (j *job) Started() { j.p.Begin(time.Now()) }

func (j *job) Output(item []byte) {
	if !j.takesItem(item) {
		return
	}
	if j.outbox != nil {
		j.outbox.add(item)
	} else if !j.p.Output(item) {
		go j.stop() // the pool must not be called from here
	}
}

func (j *job) Metric(metric []byte) {
	if !j.p.Metric(metric) {
		go j.stop()
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
		result, reason = s.overBudget(&result), reasonMemory
	} else if j.checkOutput(&result); j.refused != "" {
		reason = reasonModel
	}
	if j.outbox != nil {
		began, before := time.Now(), result.Status
		j.outbox.settle(&result)
		j.transfers += time.Since(began)
		if result.Status != before {
			reason = reasonFiles
		}
	}
	if j.outputs != nil {
		before := result.Status
		if j.handOver(&result); result.Status != before {
			reason = reasonFiles
		}
	}
	if r.Release != nil {
		if !p.Told() && s.keeps(p, &result) { // it outlives its answers, and is not compacted
			result.Output = bytes.Clone(result.Output)
			result.Metrics = bytes.Clone(result.Metrics)
			r.Release()
		} else {
			p.OnRelease(r.Release)
		}
	}
	j.observe(&result, r.Waited, reason)
	// Of what was not answered a part may still be on its way to a worker, from where it lies; so may what was moved, to
	// the worker that it was taken from.
	if body := p.Request.Body; len(body) >= spare.Min && r.Err == nil && !r.Moved && (p.Told() || !s.keeps(p, &result)) {
		p.OnRelease(func() { spare.Put(body) })
	}
	s.ended(p, result)
	return nil
}

// read is a call's result as the prediction's; begun: its worker may have begun it.
func (j *job) read(r *slot.Result) (result predict.Result, begun bool) {
	if r.Err == nil {
		result = read(r, j.p.Told())
		if r.Canceled { // as with Cog, also where the model returned all the same, or raised something else
			result.Status, result.Output, result.Yielded, result.Error = predict.Canceled, nil, false, ""
		}
		if j.rides {
			result.Metrics = withQueueTime(result.Metrics, r.Waited)
		}
		return result, true
	}
	var lost *slot.LostError
	var late *slot.TimeoutError
	switch {
	case errors.Is(r.Err, slot.ErrCanceled):
		return predict.Result{Status: predict.Canceled, Elapsed: r.Elapsed}, true
	case errors.As(r.Err, &lost):
		return predict.Result{Status: predict.Failed, Error: lost.Cause, Elapsed: r.Elapsed}, true
	case errors.As(r.Err, &late):
		return predict.Result{Status: predict.Failed, Error: late.Error(), Elapsed: r.Elapsed}, true
	default: // ErrQueueTimeout, NotReadyError
		return predict.Result{Status: predict.Failed, Error: r.Err.Error()}, false
	}
}

// maxAnonymous is the largest prediction, in bytes, that is kept though its client gave it no id and was
// answered: it is unlikely to be asked for again.
const maxAnonymous = 16 << 10

// size is about how many bytes are kept with a prediction that ended so.
func size(p *predict.Prediction, r *predict.Result) int {
	in := max(cap(p.Request.Body), len(p.Request.Input)+len(p.Request.Context), int(p.Request.Charged))
	return 1<<10 + in + len(r.Output) + len(r.Logs) + len(r.Metrics) + len(r.Error)
}

// keeps tells whether a prediction that ends so can be asked for afterwards.
func (s *Service) keeps(p *predict.Prediction, r *predict.Result) bool {
	return p.Told() || p.File() == nil && size(p, r) <= maxAnonymous
}

// ended makes a prediction's end known. Its id is free before anybody learns of it.
func (s *Service) ended(p *predict.Prediction, r predict.Result) {
	if s.keeps(p, &r) {
		s.registry.Finish(p, size(p, &r))
	} else {
		s.registry.Remove(p)
	}
	p.End(r, time.Now())
}

// The parts of a worker's answer that are the same in all.
var (
	openMetrics = []byte(`{"metrics":`)
	thenOutput  = []byte(`,"output":`)
	thenError   = []byte(`,"error":`)
	closeBrace  = []byte(`}`)
)

// read takes a worker's answer apart: {"metrics":{…}}, then "output" or "error". The worker writes it
// without a space, and an output of any size is not looked at. A success without an output means what was
// yielded, which only a prediction that is told has.
func read(r *slot.Result, told bool) predict.Result {
	result := predict.Result{Elapsed: r.Elapsed}
	members := rawjson.Object(r.Body)
	_, metrics, ok := members.Next()
	rest, opened := bytes.CutPrefix(r.Body, openMetrics)
	rest, closed := bytes.CutSuffix(rest, closeBrace)
	if !ok || !opened || !closed || members.Offset() != len(openMetrics) || len(metrics) > len(rest) {
		return unreadable(r)
	}
	result.Metrics = metrics
	rest = rest[len(metrics):]
	switch r.Kind {
	case ipc.KindSucceeded:
		result.Status = predict.Succeeded
		if result.Yielded = told && len(rest) == 0; !result.Yielded {
			result.Output, ok = bytes.CutPrefix(rest, thenOutput)
			ok = ok && len(result.Output) > 0
		}
	case ipc.KindFailed:
		result.Status = predict.Failed
		rest, ok = bytes.CutPrefix(rest, thenError)
		ok = ok && rawjson.KindOf(rest) == rawjson.KindString
		result.Error = rawjson.Text(rest)
	default:
		result.Status = predict.Canceled
		ok = len(rest) == 0
	}
	if !ok {
		return unreadable(r)
	}
	return result
}

// unreadable is the result of an answer that no worker of ours sends.
func unreadable(r *slot.Result) predict.Result {
	return predict.Result{
		Status: predict.Failed, Elapsed: r.Elapsed,
		Error: fmt.Sprintf("the worker's answer cannot be read: %.100q", r.Body),
	}
}
