package modelhost

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/pyembed/locate"
	"pinion/runtime/files"
	"pinion/runtime/gpu"
	"pinion/runtime/memory"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
	"pinion/runtime/telemetry"
	"pinion/runtime/webhook"
	"pinion/tests/assert"
	"pinion/tests/fakeworker"
)

func TestMain(m *testing.M) {
	fakeworker.Main()
	os.Exit(m.Run())
}

// rig is a host, and its models with fake workers.
type rig struct {
	*Host
	t       *testing.T
	models  []*Model
	orphans *supervise.Orphans
}

func newRig(t *testing.T, set func(*Options)) *rig {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r := &rig{t: t}
	dir := assert.Must(process.MakeRunDir())(t)
	t.Cleanup(func() { _ = dir.Remove() })
	store := assert.Must(files.New(files.Options{Root: t.TempDir()}))(t)
	t.Cleanup(func() { store.Close() })
	r.orphans = assert.Must(supervise.AdoptOrphans())(t)
	webhooks := webhook.New(webhook.Options{Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(webhooks.Close)
	o := Options{
		Config: &config.Server{Grace: time.Minute, Telemetry: &telemetry.Config{}}, Several: true,
		Logger: slog.New(slog.DiscardHandler), RunDir: dir, Orphans: r.orphans, Memory: memory.New(0), Files: store,
		Webhooks: webhooks, BusyPoll: func() slot.BusyPoll { return slot.BusyPoll{} },
		Models: func() []*Model { return r.models },
		Calls:  func(string) func([]*predict.Prediction, int) { return nil },
		Reload: func() {}, Quiet: func() {},
	}
	if set != nil {
		set(&o)
	}
	r.Host = assert.Must(New(o))(t)
	t.Cleanup(r.stop)
	return r
}

// add makes a model whose workers do what the word says; see package fakeworker.
func (r *rig) add(name, word string, set func(*config.Model)) *Model {
	r.t.Helper()
	dir := r.t.TempDir()
	assert.NoError(r.t, os.WriteFile(filepath.Join(dir, "run.py"), nil, 0o600))
	var settings config.Model
	settings.BindFlags(pflag.NewFlagSet("", pflag.ContinueOnError)) // which sets the defaults
	settings.Predictor, settings.Queue = "run.py:"+word, 10
	if set != nil {
		set(&settings)
	}
	found := assert.Must(settings.FindModel(dir))(r.t)
	of := config.Named{Name: name, Settings: &settings, Found: found, Python: &locate.Python{}, GPUs: gpu.Plan{Workers: 1}}
	m := assert.Must(r.NewModel(of, metrics.New(metrics.Options{Scope: metrics.ScopeModel}), false))(r.t)
	r.models = append(r.models, m)
	return m
}

// stop ends all models as a server does.
func (r *rig) stop() {
	for _, m := range r.models {
		m.Drain()
		m.StopWorkers(true)
	}
	for _, m := range r.models {
		m.WaitWorkers()
		m.Close()
		m.Service.Close()
	}
	r.orphans.KillLeft()
}

func (r *rig) until(m *Model, want State) {
	r.t.Helper()
	assert.Eventually(r.t, m.Name+" is "+want.String(), func() bool {
		got, _ := m.Lifecycle.State()
		return got == want
	})
}

// begin starts a prediction of an input, as the server does.
func (r *rig) begin(m *Model, input string) (*predict.Prediction, error) {
	return m.Service.Create(predict.Request{Input: []byte(input)})
}

// ask makes a prediction and returns how it ended.
func (r *rig) ask(m *Model, input string) predict.Status {
	r.t.Helper()
	p := assert.Must(r.begin(m, input))(r.t)
	defer p.Release()
	assert.NoError(r.t, p.Run())
	return p.Record().Status
}

func onDemand(s *config.Model) { s.Loading.When = config.OnDemand }

func manual(s *config.Model) { s.Loading.When = config.Manual }

// needs sets the memory that a model is to need.
func needs(bytes usertext.Bytes, set func(*config.Model)) func(*config.Model) {
	return func(s *config.Model) {
		s.Loading.Memory = bytes
		set(s)
	}
}
