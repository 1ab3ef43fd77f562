package grpc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	pb "pinion/httpd/oip/grpc/inferencepb"

	"pinion/httpd/protocol"
	"pinion/runtime/predict"
)

// Triton's parameters of sequences.
const (
	sequenceID    = "sequence_id"
	sequenceStart = "sequence_start"
	sequenceEnd   = "sequence_end"
)

// sequenceOf returns the key of a request's sequence, "" if it is of none.
func sequenceOf(msg *pb.ModelInferRequest) string {
	p := msg.GetParameters()[sequenceID]
	id := p.GetStringParam()
	if n := p.GetInt64Param(); n != 0 {
		id = strconv.FormatInt(n, 10)
	} else if n := p.GetUint64Param(); n != 0 {
		id = strconv.FormatUint(n, 10)
	}
	if id == "" {
		return ""
	}
	return msg.GetModelName() + "\x00" + id
}

const (
	// maxPassed is how many requests of a sequence wait for those before, so that one sequence seldom holds up another.
	maxPassed = 64
	// idCost is what the id of a request that waits for its response takes beside its text.
	idCost = 48
)

// unanswered are requests in succession that have the same id, and no response.
type unanswered struct {
	id    string
	wants bool // an empty response after the last one
	n     int
}

// sequence is a session of a model with a streamed input. feed puts the items of its requests, and run sends the
// responses: the n-th output has the id of the n-th request.
type sequence struct {
	st       *inferStream
	in       *inference
	requests chan received // closed when the client has ended it
	items    int

	mu      sync.Mutex
	waiting []unanswered
	last    unanswered // the one that was answered last
	charged int64      // for the ids
	ended   bool
	err     *protocol.Error // how it has ended
}

// pass hands a request to its sequence, which it may begin. An error ends the stream.
func (st *inferStream) pass(key string, got received) error {
	p, sq := got.msg.GetParameters(), st.sequences[key]
	start, end := p[sequenceStart].GetBoolParam(), p[sequenceEnd].GetBoolParam()
	for _, name := range []string{sequenceID, sequenceStart, sequenceEnd} {
		delete(p, name)
	}
	var err *protocol.Error
	switch {
	case start && sq != nil:
		err = bad("the sequence has begun already: end it by sequence_end before its next sequence_start")
	case start && (len(st.sequences) == maxActive || st.active == maxActive):
		err = protocol.Errorf(protocol.NoPlace, "the stream has %d requests and sequences: use another stream", maxActive)
	case start:
		sq = &sequence{st: st, requests: make(chan received, maxPassed)}
		if sq.in, err = st.s.begin(st.stream.Context(), got.msg, got.body, true, new(predict.Inlet)); err == nil {
			got.body = protocol.Body{}
			st.sequences[key] = sq
			st.active++
			sq.await(got.msg)
			go sq.serve()
		}
		got.body = protocol.Body{} // begin has taken it over
	case sq == nil:
		err = bad("the sequence has not begun in this stream: send sequence_start with its first request")
	}
	if err != nil {
		got.body.Release()
		return st.refuse(got.msg, err)
	}
	if !start {
		select {
		case sq.requests <- got:
		case <-st.stream.Context().Done():
			got.body.Release()
			st.call.work(-1)
		}
	}
	if end {
		delete(st.sequences, key)
		close(sq.requests)
	}
	return nil
}

// endSequences ends those that the client has not ended.
func (st *inferStream) endSequences() {
	for _, sq := range st.sequences {
		close(sq.requests)
	}
	clear(st.sequences)
}

// beginItems reads the items of the request that begins a sequence, and returns the signature of its other inputs.
func (in *inference) beginItems(charge func(int64) *protocol.Error) (*protocol.Signature, *protocol.Error) {
	if in.field = in.signature.Streamed(); in.field == nil {
		return nil, protocol.ErrorOf(predict.ErrNotStreamed)
	}
	others := *in.signature
	others.Inputs = nil
	for _, f := range in.signature.Inputs {
		if f.Name != in.field.Name {
			others.Inputs = append(others.Inputs, f)
		}
	}
	var err *protocol.Error
	in.first, err = in.Items(&in.parsed, in.field, in.model, charge)
	return &others, err
}

// serve carries the sequence out.
func (sq *sequence) serve() {
	st, ctx := sq.st, sq.st.stream.Context()
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		sq.feed(ctx.Done())
	}()
	sq.end(sq.run(ctx))
	st.call.work(-1)
	<-fed
	if sq.in.parsed.Attachments != nil {
		sq.in.parsed.Attachments.Close()
	}
	st.ended <- struct{}{}
}

// run sends the outputs.
func (sq *sequence) run(ctx context.Context) (err *protocol.Error) {
	st, in := sq.st, sq.in
	defer func() {
		if v := recover(); v != nil {
			st.s.opt.Logger.Error("a gRPC stream panicked", "panic", v)
			err = protocol.Errorf(protocol.Internal, "Internal Server Error")
		}
	}()
	if in.signature.Iterator {
		return st.items(ctx, in, func(item []byte) *protocol.Error { return st.item(in, sq.answered(), item) })
	}
	defer in.run.Release()
	stop := watch(ctx, in.run)
	answers, err := in.run.Wait()
	stop()
	if err != nil {
		return err
	}
	tensors, err := in.Answered(in.signature, in.shape, answers.List)
	if err != nil {
		return err
	}
	return st.respond(in, sq.answered(), tensors)
}

// feed puts the items of the requests until the client ends the sequence or the stream.
func (sq *sequence) feed(stop <-chan struct{}) {
	to, s := sq.in.inlet, sq.st.s
	sq.put(sq.in.first, nil, stop)
	sq.in.first = nil
	idle := time.NewTimer(s.opt.StreamIdle)
	defer idle.Stop()
	for {
		if len(sq.requests) == 0 {
			to.Flush()
		}
		select {
		case got, more := <-sq.requests:
			if !more {
				to.End("")
				return
			}
			if sq.await(got.msg) {
				items, err := sq.read(&got)
				sq.put(items, err, stop)
			}
			got.body.Release()
			sq.st.call.work(-1)
			idle.Reset(s.opt.StreamIdle)
		case <-idle.C:
			to.End(fmt.Sprintf("no item came for %s", s.opt.StreamIdle))
		}
	}
}

// read returns the items of a request.
func (sq *sequence) read(got *received) ([]predict.Item, *protocol.Error) {
	r, err := request(got.msg)
	if err != nil {
		return nil, err
	}
	items, err := r.Items(&sq.in.parsed, sq.in.field, sq.in.model, sq.st.s.charger(&got.body))
	if err == nil && len(r.Inputs) > 0 {
		err = bad("input %q comes with sequence_start alone: later requests have input %q", r.Inputs[0].Name, sq.in.field.Name)
	}
	return items, err
}

// put puts items, or breaks the input.
func (sq *sequence) put(items []predict.Item, refused *protocol.Error, stop <-chan struct{}) {
	if refused != nil {
		sq.in.inlet.End(fmt.Sprintf("item %d: %s", sq.items, refused.Error()))
	}
	for _, item := range items {
		if err := sq.in.inlet.Put(item, stop); err != nil {
			if !errors.Is(err, predict.ErrInletClosed) {
				sq.in.inlet.End(predict.ItemReason(err))
			}
			return
		}
		sq.items++
	}
}

// await notes that a request has no response yet. If the sequence has ended, it answers it, and returns false.
func (sq *sequence) await(msg *pb.ModelInferRequest) bool {
	next := unanswered{msg.GetId(), msg.GetParameters()[wantsLast].GetBoolParam(), 1}
	sq.mu.Lock()
	defer sq.mu.Unlock()
	last := len(sq.waiting) - 1
	switch cost := int64(len(next.id) + idCost); {
	case sq.ended:
		sq.answerEmpty(next)
		return false
	case last >= 0 && sq.waiting[last].id == next.id && sq.waiting[last].wants == next.wants:
		sq.waiting[last].n++
	case !sq.st.s.opt.Memory.Take(cost, cost):
		sq.in.inlet.End("the server has no memory for the ids of requests that wait for an output")
		sq.answerEmpty(next)
	default:
		sq.charged += cost
		sq.waiting = append(sq.waiting, next)
	}
	return true
}

// answered returns the id of the request that the next output answers.
func (sq *sequence) answered() string {
	sq.mu.Lock()
	defer sq.mu.Unlock()
	if len(sq.waiting) == 0 { // an output more than requests
		return sq.last.id
	}
	if sq.last.wants {
		sq.st.last(sq.in, sq.last.id)
	}
	sq.last = sq.waiting[0]
	if sq.waiting[0].n--; sq.waiting[0].n == 0 {
		sq.waiting = sq.waiting[1:]
	}
	return sq.last.id
}

// end answers the requests that have no response.
func (sq *sequence) end(err *protocol.Error) {
	sq.mu.Lock()
	defer sq.mu.Unlock()
	sq.ended, sq.err = true, err
	if sq.last.wants || err != nil && len(sq.waiting) == 0 {
		sq.answerEmpty(sq.last)
	}
	for _, each := range sq.waiting {
		for range each.n {
			sq.answerEmpty(each)
		}
	}
	sq.waiting = nil
	sq.st.s.opt.Memory.Free(sq.charged)
}

// answerEmpty answers a request without an output: with the error of the sequence, if it has one. Called with the lock held.
func (sq *sequence) answerEmpty(to unanswered) {
	if sq.err == nil {
		sq.st.last(sq.in, to.id)
		return
	}
	in := sq.in
	_ = sq.st.fail(&pb.ModelInferRequest{ModelName: in.model.Name, ModelVersion: in.model.Version, Id: to.id}, sq.err)
}
