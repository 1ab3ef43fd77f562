package modelcall

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/runtime/files"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/service"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
	"pinion/tests/assert"
	"pinion/tests/fakeworker"
)

func TestMain(m *testing.M) {
	fakeworker.Main()
	os.Exit(m.Run())
}

// served is a model on a fake worker.
type served struct{ *service.Service }

func (served) Shape() (Shape, error) { return Shape{}, nil }

func (s served) Assign(req predict.Request) (*predict.Prediction, error) { return s.Create(req) }

func serve(t *testing.T) served {
	t.Helper()
	exe := assert.Must(os.Executable())(t)
	folder := assert.Must(files.New(files.Options{Root: t.TempDir()}))(t)
	t.Cleanup(func() { folder.Close() })
	s := service.New(service.Options{
		Pool:  slot.NewPool(slot.Options{Queue: 10, CancelGrace: time.Minute}),
		Files: folder, Logger: slog.New(slog.DiscardHandler), Queue: true,
	})
	w := s.Supervise(supervise.Options{
		Exe: exe, Spec: ipc.WorkerConfig{Ref: "good", Root: t.TempDir()}, Env: supervise.WorkerEnv(nil),
	})
	go w.Run()
	t.Cleanup(func() { w.Kill(); <-w.Done() })
	assert.Eventually(t, "a worker", func() bool { return s.Ready() == nil })
	return served{s}
}

// rig is a prediction that runs and may call the model "callee".
type rig struct {
	*Options
	t      *testing.T
	callee served
	caller *predict.Prediction
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, callee: serve(t)}
	r.Options = &Options{
		Find: func(name string) (Model, error) {
			if name != "callee" {
				return nil, fmt.Errorf("no model %q: there is callee", name)
			}
			return r.callee, nil
		},
		Explain: error.Error, Memory: memory.New(64 << 20),
	}
	p := assert.Must(serve(t).Create(predict.Request{Input: []byte(`{"s":"forever"}`)}))(t)
	p.Start()
	t.Cleanup(func() {
		p.Cancel()
		<-p.Done()
		p.Release()
		assert.Eventually(t, "no prediction of the callee is left", func() bool { return r.callee.InFlight() == 0 })
	})
	r.caller = p
	return r
}

// dial opens the socket of a call.
func (r *rig) dial() *ipc.Conn {
	r.t.Helper()
	fds := assert.Must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0))(r.t)
	r.Serve("caller", []*predict.Prediction{r.caller}, fds[0])
	c := assert.Must(ipc.NewConn(fds[1], "caller"))(r.t)
	r.t.Cleanup(func() { c.Close() })
	return c
}

// call sends a call and returns the frame that ends it.
func (r *rig) call(body string) (kind ipc.Kind, answer string) {
	r.t.Helper()
	c := r.dial()
	assert.NoError(r.t, c.Send(ipc.KindCall, 0, []byte(body)))
	for !kind.Ends() {
		assert.NoError(r.t, c.Recv(func(f *ipc.Frame) { kind, answer = f.Kind, string(bytes.Clone(f.Body)) }))
	}
	return kind, answer
}

func TestCall_AnswersWithTheOutput(t *testing.T) {
	kind, answer := newRig(t).call(`{"model":"callee","input":{"s":"x"}}`)
	assert.Equal(t, "kind", kind, ipc.KindSucceeded)
	assert.Contains(t, "answer", answer, `"s":"x"`)
}

// TestCall_IsShown with its caller, also where it was refused.
func TestCall_IsShown(t *testing.T) {
	r := newRig(t)
	if got := r.caller.Calls(time.Now()); got.List != nil {
		t.Errorf("got %+v before any call, want none", got)
	}
	r.call(`{"model":"callee","input":{"s":"x"}}`)
	r.call(`{"model":"callee","input":{"s":"fail"}}`)
	r.call(`{"model":"other","input":{}}`)
	got := r.caller.Calls(time.Now()).List
	want := []predict.CallState{
		{Model: "callee", Status: "succeeded"},
		{Model: "callee", Status: "failed", Error: "ValueError"},
		{Model: "other", Status: "refused", Error: "no model"},
	}
	assert.TrueNow(t, len(got) == len(want), "got %+v, want %+v", got, want)
	for i, w := range want {
		g := got[i]
		if g.Model != w.Model || g.Status != w.Status || !strings.Contains(g.Error, w.Error) ||
			(g.ID == "") != (w.Status == "refused") || g.Seconds < 0 {
			t.Errorf("got %+v, want %+v", g, w)
		}
	}
}

func TestCall_Refuses(t *testing.T) {
	r := newRig(t)
	for body, want := range map[string]string{
		`{"model":"other","input":{}}`:            "there is callee",
		`{"model":"caller","input":{}}`:           "already among its callers: caller → caller",
		`{"model":"callee","input":{"s":7}}`:      "string",
		`{"model":"callee","input":7}`:            errUnreadable.Error(),
		`{"model":"callee"}`:                      errUnreadable.Error(),
		`{`:                                       errUnreadable.Error(),
		`{"model":"callee","input":{"s":"fail"}}`: "ValueError",
	} {
		if kind, answer := r.call(body); kind != ipc.KindFailed || !strings.Contains(answer, want) {
			t.Errorf("%s: got %s %s, want an error with %q", body, kind, answer, want)
		}
	}
}

// TestCall_WorkerDies: the caller gets the error, and goes on.
func TestCall_WorkerDies(t *testing.T) {
	r := newRig(t)
	kind, answer := r.call(`{"model":"callee","input":{"s":"die"}}`)
	assert.True(t, kind == ipc.KindFailed && answer != "", "got %s %s, want an error", kind, answer)
	assert.False(t, r.caller.Record().Status.Terminal(), "got a caller that is %s, want it to run", r.caller.Record().Status)
}

// TestCall_CanceledWithItsCaller: when the prediction ends that calls, or the socket is closed.
func TestCall_CanceledWithItsCaller(t *testing.T) {
	for name, end := range map[string]func(*rig, *ipc.Conn){
		"the prediction ends":  func(r *rig, _ *ipc.Conn) { r.caller.Cancel() },
		"the socket is closed": func(_ *rig, c *ipc.Conn) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c := r.dial()
			assert.NoError(t, c.Send(ipc.KindCall, 0, []byte(`{"model":"callee","input":{"s":"forever"}}`)))
			assert.Eventually(t, "it runs", func() bool { return r.callee.InFlight() == 1 })
			end(r, c)
			assert.Eventually(t, "it is canceled", func() bool { return r.callee.InFlight() == 0 })
		})
	}
}

func TestCall_NoMemory(t *testing.T) {
	r := newRig(t)
	r.Memory = memory.New(1)
	for r.Memory.Take(1<<20, 1) {
	}
	body := `{"model":"callee","input":{"s":"` + strings.Repeat("x", 2*memory.MinCharge) + `"}}`
	kind, answer := r.call(body)
	assert.Equal(t, "kind", kind, ipc.KindFailed)
	assert.Contains(t, "answer", answer, memory.ErrFull.Error())
}

// TestCallers_OfABatch: a model that any of its predictions came through is not called again.
func TestCallers_OfABatch(t *testing.T) {
	of := func(callers ...string) *predict.Prediction {
		return predict.New("a", &predict.Request{Callers: callers}, time.Now(), nil, predict.Options{})
	}
	c := &call{caller: "c", of: []*predict.Prediction{of("a", "b"), of("d")}}
	assert.Equal(t, "callers", strings.Join(c.callers(), " "), "d a b c")
}

func TestParse_Unreadable(t *testing.T) {
	for _, body := range []string{``, `[]`, `{"model":7,"input":{}}`, `{"input":{}}`, "{\"model\":\"m\",\"input\":{}}x"} {
		_, err := parse([]byte(body))
		assert.True(t, errors.Is(err, errUnreadable), "%q: got %v, want %v", body, err, errUnreadable)
	}
}

// TestDeadline_OfACall is the latest of those that wait for it.
func TestDeadline_OfACall(t *testing.T) {
	now := time.Now()
	soon, late := predict.Request{Deadline: now.Add(time.Second)}, predict.Request{Deadline: now.Add(time.Hour)}
	job := late
	job.Attempt = 1
	for _, c := range []struct {
		of   []predict.Request
		want time.Time
	}{
		{[]predict.Request{soon}, soon.Deadline},
		{[]predict.Request{late, soon}, late.Deadline},
		{[]predict.Request{soon, {}}, time.Time{}},
		{[]predict.Request{job}, time.Time{}},
	} {
		calling := &call{}
		for _, req := range c.of {
			calling.of = append(calling.of, predict.New("a", &req, now, nil, predict.Options{}))
		}
		got := calling.deadline()
		assert.True(t, got.Equal(c.want), "%d predictions: got %v, want %v", len(c.of), got, c.want)
	}
}
