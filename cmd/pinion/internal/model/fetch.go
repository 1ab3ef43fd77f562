package model

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pinion/cmd/internal/version"
	"pinion/ipc"
	"pinion/runtime/health"
	"pinion/runtime/weights"
)

// Fetch fetches the weights of a model, for all its workers.
type Fetch struct {
	Below   func() string // the folder for what the workers wait at
	Log     *slog.Logger
	Timeout time.Duration // 0 means any time
	// OnEnd, if set, is called when a run has ended.
	OnEnd func(run *weights.Run)

	mu    sync.Mutex
	model *Model
	list  []weights.Weight
	run   *weights.Run // nil if there is nothing to fetch
	gate  *weights.Gate
	gates []*weights.Gate // of earlier runs: their workers may still ask
}

// FindWeights reads what the cog.yaml of a folder says of weights, and the lock beside it; nil means there is none. The
// model may lack the rest. anyLock means that the lock may be of another cog.yaml.
func FindWeights(dir string, anyLock bool) (*Model, *weights.Lock, error) {
	if err := CheckFolder(dir); err != nil {
		return nil, nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("find folder %s: %w", dir, err)
	}
	report := readCogYAML(abs, false)
	problems := slices.DeleteFunc(report.unusable, func(p Problem) bool {
		return anyLock && report.lock != nil && p.File == weights.LockFile
	})
	if len(problems) > 0 {
		return nil, nil, &ProblemsError{&Reading{Problems: problems}}
	}
	return &Model{Dir: abs, Env: unset(report.settings().environment), Weights: report.fetched}, report.lock, nil
}

// OpenWeightsCache opens the cache of weights, by the environment.
func OpenWeightsCache() (*weights.Cache, error) {
	root, err := weights.CacheRoot(os.Getenv)
	if err != nil {
		return nil, err
	}
	return weights.OpenCache(root)
}

// WeightsOptions returns how the weights of a model are fetched.
func WeightsOptions(m *Model, cache *weights.Cache, log *slog.Logger) weights.Options {
	return weights.Options{
		Folder: m.Dir, Cache: cache, Env: m.Getenv, Log: log, UserAgent: "pinion/" + version.Pinion,
	}
}

// Begin begins to fetch the weights of the model as it was read now, and ends an earlier run.
func (f *Fetch) Begin(m *Model) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.model = m
	return f.begin()
}

// begin is Begin, with the lock held.
func (f *Fetch) begin() (err error) {
	if f.run != nil {
		f.run.Close()
	}
	f.run, f.gate = nil, nil
	f.list, err = f.model.expected()
	if err != nil {
		return err
	}
	list := f.list
	if len(list) == 0 {
		return nil
	}
	gate, err := weights.NewGate(f.Below(), list)
	if err != nil {
		return err
	}
	f.gate, f.gates = gate, append(f.gates, gate)
	cache, err := OpenWeightsCache()
	if err != nil {
		f.run = weights.Fail(list, err, gate.Open)
		return nil
	}
	o := WeightsOptions(f.model, cache, f.Log)
	o.Timeout = f.Timeout
	run := weights.Start(o, list, gate.Open)
	f.run = run
	if f.OnEnd != nil {
		go func() {
			<-run.Done()
			f.OnEnd(run)
		}()
	}
	return nil
}

// expected returns the weights that the image's manifest has, which another program brings, else those of cog.yaml.
func (m *Model) expected() ([]weights.Weight, error) {
	manifest, err := weights.ReadManifest(weights.ManifestFile)
	if manifest == nil || err != nil {
		return m.Weights, err
	}
	var list []weights.Weight
	for _, e := range manifest {
		w := weights.Weight{
			Name: e.Name, Target: e.Target, Awaited: true, Lock: &weights.Locked{SetDigest: e.SetDigest},
		}
		for _, of := range m.Weights {
			if of.Name == e.Name {
				w.Line, w.NoWait = of.Line, of.NoWait
			}
		}
		list = append(list, w)
	}
	return list, nil
}

// Prepare says to a worker that is about to start where it waits for the weights. What could not be fetched is tried
// again.
func (f *Fetch) Prepare(spec *ipc.WorkerConfig) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.run != nil && f.run.Failed() {
		if err := f.begin(); err != nil {
			return err
		}
	}
	spec.Fetched = nil
	if f.gate == nil {
		return nil
	}
	spec.Fetched = &ipc.Fetched{Folder: f.gate.Folder(), Wait: []string{}}
	for _, w := range f.list {
		if !w.NoWait {
			spec.Fetched.Wait = append(spec.Fetched.Wait, w.Name)
		}
	}
	return nil
}

// There returns a channel that is closed when the weights are there, or cannot be; nil means there is nothing to fetch.
func (f *Fetch) There() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.run == nil {
		return nil
	}
	return f.run.Done()
}

// Health returns how far the run is, while it lasts.
func (f *Fetch) Health() *health.Weights {
	f.mu.Lock()
	run := f.run
	f.mu.Unlock()
	if run == nil || run.Ended() {
		return nil
	}
	p := run.Progress()
	return &health.Weights{
		DoneBytes: p.Done, TotalBytes: p.Total, Files: p.Files, TotalFiles: p.OfFiles, Rate: float64(int64(p.Rate)),
	}
}

// Close ends a run, and removes what workers wait at.
func (f *Fetch) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.run != nil {
		f.run.Close()
	}
	for _, gate := range f.gates {
		gate.Close()
	}
	f.run, f.gate, f.gates = nil, nil, nil
}

// WeightNames returns the names of the weights that a server fetches.
func (m *Model) WeightNames() []string {
	var names []string
	for _, w := range m.Weights {
		names = append(names, w.Name)
	}
	return slices.Clip(names)
}
