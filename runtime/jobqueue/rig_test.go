package jobqueue

import (
	"context"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"pinion/ipc"
	"pinion/runtime/files"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/request"
	"pinion/runtime/service"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
	"pinion/runtime/webhook"
	"pinion/tests/assert"
	"pinion/tests/fakeworker"
)

func TestMain(m *testing.M) {
	fakeworker.Main()
	os.Exit(m.Run())
}

// rig is a NATS server, with the members of one model's queue.
type rig struct {
	t    *testing.T
	url  string
	left []*Member // that have ended already
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t}
	r.start("127.0.0.1:0")
	return r
}

// start starts NATS at an address.
func (r *rig) start(address string) {
	r.t.Helper()
	host, port, err := net.SplitHostPort(address)
	assert.NoError(r.t, err)
	o := &server.Options{
		Host: host, Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: r.t.TempDir(),
		JetStreamMaxStore: 8 << 30,
	}
	if n, _ := strconv.Atoi(port); n > 0 {
		o.Port = n
	}
	s := assert.Must(server.NewServer(o))(r.t)
	s.Start()
	r.t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	assert.TrueNow(r.t, s.ReadyForConnections(20*time.Second),
		"NATS does not answer")
	r.url = "nats://" + s.Addr().String()
}

// join makes a member that leaves with the test.
func (r *rig) join(name string, set func(*Options)) *Member {
	r.t.Helper()
	webhooks := webhook.New(webhook.Options{Logger: slog.New(slog.DiscardHandler)})
	r.t.Cleanup(webhooks.Close)
	o := Options{
		Connect: func(changed func(error)) *state.Conn {
			return state.Dial(func() (*nats.Conn, error) {
				return nats.Connect(r.url, nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { changed(err) }))
			})
		},
		Queue:    state.Options{Model: "m", Server: name, Bytes: 64 << 20},
		Attempts: 2, MaxBody: 1 << 20, Memory: memory.New(64 << 20),
		Webhooks: webhooks.Account(), Logger: slog.New(slog.DiscardHandler),
	}
	if set != nil {
		set(&o)
	}
	m := Join(o)
	assert.NoError(r.t, m.Joined(r.t.Context()))
	r.t.Cleanup(func() {
		if !slices.Contains(r.left, m) {
			r.leave(m)
		}
	})
	return m
}

// leave ends a member.
func (r *rig) leave(m *Member) {
	r.t.Helper()
	r.left = append(r.left, m)
	m.Drain()
	m.Release(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	assert.ErrorIs(r.t, "the member leaves", m.Close(ctx), nil)
}

// serve joins a member that runs jobs on a fake worker.
func (r *rig) serve(name string) (*Member, *service.Service) {
	r.t.Helper()
	return r.serveWith(name, func(l oneVersion) Local { return l })
}

// serveAs is serve with further options.
func (r *rig) serveAs(name string, set func(*Options)) *Member {
	r.t.Helper()
	m, _ := r.serveWith(name, func(l oneVersion) Local { return l }, set)
	return m
}

// serveWith is serve with what wrap makes of its model.
func (r *rig) serveWith(name string, wrap func(oneVersion) Local, sets ...func(*Options)) (*Member, *service.Service) {
	r.t.Helper()
	exe := assert.Must(os.Executable())(r.t)
	folder := assert.Must(files.New(files.Options{Root: r.t.TempDir()}))(r.t)
	r.t.Cleanup(func() { folder.Close() })
	pool := slot.NewPool(slot.Options{Queue: 10, CancelGrace: time.Minute})
	s := service.New(service.Options{Pool: pool, Files: folder, Logger: slog.New(slog.DiscardHandler), Queue: true})
	w := s.Supervise(supervise.Options{
		Exe: exe, Spec: ipc.WorkerConfig{Ref: "good", Root: r.t.TempDir()}, Env: supervise.WorkerEnv(nil),
	})
	go w.Run()
	r.t.Cleanup(func() { w.Kill(); <-w.Done() })
	assert.Eventually(r.t, "a worker", func() bool { return s.Ready() == nil })
	return r.join(name, func(o *Options) {
		o.Local = wrap(oneVersion{s})
		o.Slots = func() (int, int) { l := pool.Load(); return l.Slots, l.Slots - l.InFlight }
		for _, set := range sets {
			set(o)
		}
	}), s
}

// submission returns a request with a JSON body.
func submission(id, input string) request.Submission {
	body := []byte(`{"id":"` + id + `","input":` + input + `}`)
	s := request.Submission{Body: body, ContentType: request.TypeJSON}
	if err := request.ReadJSON(&s.Request, body, true); err != nil {
		panic(err)
	}
	s.Request.Mode = predict.Async
	return s
}

// status returns the status of a job as a member finds it; "" means it finds none.
func (r *rig) status(m *Member, id string) string {
	r.t.Helper()
	found := assert.Must(m.Find(predict.KindPrediction, id, false))(r.t)
	if found.Object == nil {
		return ""
	}
	defer found.Release()
	return statusOf(found.Object)
}

func (r *rig) until(m *Member, id, want string) {
	r.t.Helper()
	assert.Eventually(r.t, id+" is "+want, func() bool { return r.status(m, id) == want },
		func() any { return r.status(m, id) })
}

// oneVersion is a model without versions.
type oneVersion struct{ *service.Service }

func (l oneVersion) AwaitCapacity(ctx context.Context, _ string) int {
	return l.Service.AwaitCapacity(ctx)
}

func (l oneVersion) MeanDuration(string) time.Duration { return l.Service.MeanDuration() }

func (l oneVersion) AcquireSlot(string) Slot {
	if l.Service.AcquireSlot() {
		return oneSlot(l)
	}
	return nil
}

type oneSlot struct{ *service.Service }

func (s oneSlot) Version() string { return "" }
func (s oneSlot) Release()        { s.ReleaseSlot() }

func (s oneSlot) Assign(req predict.Request) (*predict.Prediction, error) { return s.Create(req) }
