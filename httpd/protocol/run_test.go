package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pinion/httpd/body"
	"pinion/runtime/predict"
	"pinion/runtime/request"
	"pinion/tests/assert"
)

// fakeService runs predictions by a function.
type fakeService struct {
	run      func(p *predict.Prediction) predict.Result
	made     atomic.Int64
	canceled atomic.Int64
}

func (s *fakeService) Assign(req predict.Request) (*predict.Prediction, error) {
	if strings.Contains(string(req.Input), "invalid") {
		return nil, &predict.ValidationError{Problems: []predict.Problem{{Loc: []string{"body", "input", "x"}, Msg: "no"}}}
	}
	return predict.New(fmt.Sprint("p", s.made.Add(1)), &req, time.Now(), fakeRunner{s}, predict.Options{}), nil
}

func (s *fakeService) SubmitAll([]*predict.Prediction)     {}
func (s *fakeService) OpenAPI() ([]byte, bool)             { return nil, false }
func (s *fakeService) LoadOpenAPI() ([]byte, bool)         { return nil, false }
func (s *fakeService) NewAttachments() request.Attachments { return nil }
func (s *fakeService) Ready() error                        { return nil }
func (s *fakeService) State() State                        { return State{Name: "READY"} }
func (s *fakeService) Load() error                         { return nil }
func (s *fakeService) Unload() error                       { return nil }

type fakeRunner struct{ s *fakeService }

func (r fakeRunner) Submit(*predict.Prediction) {}
func (r fakeRunner) Cancel(*predict.Prediction) { r.s.canceled.Add(1) }

func (r fakeRunner) Run(p *predict.Prediction) error {
	p.Begin(time.Now())
	p.End(r.s.run(p), time.Now())
	return nil
}

func inputs(texts ...string) (list [][]byte) {
	for _, text := range texts {
		list = append(list, []byte(`{"x":"`+text+`"}`))
	}
	return list
}

// counter counts the bytes that are freed.
type counter int64

func (c *counter) Free(bytes int64) { *c += counter(bytes) }

// TestRun_Rows: each row is a prediction, and the answers have their order.
func TestRun_Rows(t *testing.T) {
	s := &fakeService{run: func(p *predict.Prediction) predict.Result {
		return predict.Result{Status: predict.Succeeded, Output: p.Request.Input}
	}}
	freed := counter(0)
	from := body.New([]byte("x"), 7, nil, &freed)
	run, err := NewModel("m", s).Begin(Call{Inputs: inputs("a", "b", "c"), Body: from})
	assert.TrueNow(t, err == nil, "got %+v, want nil", err)
	answers, err := run.Wait()
	assert.TrueNow(t, err == nil, "got %+v, want nil", err)
	for i, want := range inputs("a", "b", "c") {
		got := answers.List[i].Output
		assert.True(t, string(got) == string(want), "row %d: %s, want %s", i, got, want)
	}
	answers.Release()
	if run.Release(); freed != 7 {
		t.Errorf("%d of the body's 7 bytes are freed, want 7", freed)
	}
}

// TestRun_BadRows: the error has the row's number; an invalid row is refused before one runs, and a failed one cancels
// the others.
func TestRun_BadRows(t *testing.T) {
	ran := atomic.Int64{}
	s := &fakeService{run: func(p *predict.Prediction) predict.Result {
		ran.Add(1)
		if strings.Contains(string(p.Request.Input), "fail") {
			return predict.Result{Status: predict.Failed, Error: "ValueError: no"}
		}
		return predict.Result{Status: predict.Succeeded, Output: []byte("1")}
	}}
	m := NewModel("m", s)
	freed := counter(0)
	from := func() Body { return body.New([]byte("x"), 7, nil, &freed) }
	if _, err := m.Begin(Call{Inputs: inputs("a", "invalid"), Body: from()}); err == nil || err.Kind != BadInput ||
		err.Row != 1 || err.Error() != "row 1: input x: no" || freed != 7 {
		t.Errorf(`an invalid row: %+v, %d bytes freed, want Kind %d, Row 1, err "row 1: input x: no" and freed 7`, err, freed,
			BadInput)
	}
	if _, err := m.Begin(Call{Inputs: inputs("invalid"), Rows: true, Body: from()}); err == nil || err.Row != 0 {
		t.Errorf("an invalid only row: %+v, want Row 0", err)
	}
	if _, err := m.Begin(Call{Inputs: make([][]byte, MaxRows+1), Body: from()}); err == nil || err.Kind != BadInput ||
		freed != 21 {
		t.Errorf("too many rows: %+v, %d bytes freed, want Kind %d and freed 21", err, freed, BadInput)
	}
	run, err := m.Begin(Call{Inputs: inputs("a", "b", "fail"), Body: from()})
	assert.TrueNow(t, err == nil, "got %+v, want nil", err)
	if _, err := run.Wait(); err == nil || err.Kind != Failed || err.Row != 2 || err.Message != "ValueError: no" {
		t.Errorf(`a failed row: %+v, want Kind %d, Row 2 and Message "ValueError: no"`, err, Failed)
	}
	if run.Release(); freed != 28 || s.canceled.Load() == 0 {
		t.Errorf("%d bytes are freed; %d cancels, want 28 and not 0", freed, s.canceled.Load())
	}
}

// TestRun_SlowReaderMissesNothing: a reader that is behind by more than a subscription holds gets all items, in order,
// once and again.
func TestRun_SlowReaderMissesNothing(t *testing.T) {
	const items, parts = 9000, 3
	read := make(chan struct{}) // the reader has read a part
	s := &fakeService{run: func(p *predict.Prediction) predict.Result {
		for i := range items {
			if i > 0 && i%(items/parts) == 0 {
				<-read
			}
			p.Output(fmt.Appendf(nil, `["item",%d]`, i))
		}
		return predict.Result{Status: predict.Succeeded, Yielded: true}
	}}
	run, err := NewModel("m", s).Begin(Call{Inputs: inputs("a"), Stream: true})
	assert.TrueNow(t, err == nil, "got %+v, want nil", err)
	defer run.Release()
	err = run.Follow()
	assert.TrueNow(t, err == nil, "got %+v, want nil", err)
	got := 0
	buffer := make([][]byte, 0, 64)
	for part := range parts {
		last := fmt.Appendf(nil, `["item",%d]`, (part+1)*items/parts-1)
		assert.Eventually(t, "the model has yielded a part",
			func() bool { return bytes.Contains(run.ps[0].Record().Output, last) })
		for got < (part+1)*items/parts {
			batch, err := run.Next(buffer[:0])
			assert.TrueNow(t, err == nil, "after %d items: got %v, want no error", got, err)
			for _, item := range batch {
				assert.EqualNow(t, fmt.Sprintf("item %s", item), string(item), fmt.Sprintf(`["item",%d]`, got))
				got++
			}
		}
		if part < parts-1 {
			read <- struct{}{}
		}
	}
	if batch, err := run.Next(buffer[:0]); len(batch) > 0 || !errors.Is(err, io.EOF) {
		t.Errorf("after the last item: %q, %v, want len(batch) empty and error io.EOF", batch, err)
	}
}
