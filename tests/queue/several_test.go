package queue

import (
	"fmt"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"

	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
	"pinion/tests/harness"
)

// startSeveral serves several models from folders below dir, with a job queue for each. It makes the folders that are
// missing, which are the base names of the models.
func startSeveral(t *testing.T, nats, dir string, models []string, args ...string) *harness.Server {
	t.Helper()
	var folders []string
	for _, name := range models {
		folders = append(folders, name+"="+modelFolder(t, dir, name))
	}
	s := harness.Start(t, harness.Options{
		Python: harness.AnyPython(t).Path, Dir: dir, Models: folders,
		Args: append([]string{"--nats", nats, "--ack-wait", "15s"}, args...),
	})
	harness.WaitModels(t, s)
	return s
}

// modelFolder makes the folder of a model of harness.SeveralModel.
func modelFolder(t *testing.T, dir, name string) string {
	t.Helper()
	folder := filepath.Join(dir, filepath.Base(name))
	harness.WriteFile(t, filepath.Join(folder, "run.py"), harness.SeveralModel)
	return folder
}

// TestSeveral_EachModelHasItsQueue: jobs of one do not wait for those of another, and ids are a model's own. A server
// with some of the models runs their jobs.
func TestSeveral_EachModelHasItsQueue(t *testing.T) {
	t.Parallel()
	const odd = "meta/llama-3.1:8b"
	at := harness.StartNATSOf(t, "a", state.QueueName(odd))
	dir := t.TempDir()
	s := startSeveral(t, at.URL, dir, []string{"a", odd}, "--result-ttl", "1m")
	open := harness.MakeFIFO(t, filepath.Join(dir, "a"), "gate")
	harness.EnqueueAt(t, s, "a", "p1", harness.Input{"gate": "gate", "text": "first"})
	harness.WaitStatusAt(t, s, "a", "p1", "processing")
	for i := range 5 {
		harness.EnqueueAt(t, s, "a", fmt.Sprint("waits", i), harness.Input{})
	}
	harness.EnqueueAt(t, s, odd, "p1", harness.Input{"text": "other"})
	end := harness.WaitStatusAt(t, s, odd, "p1", "succeeded")
	if model, _, _, text := harness.SaidBy(t, end); model != filepath.Base(odd) || text != "other" {
		t.Errorf("got the answer of %s to %q, want that of %s to other", model, text, odd)
	}
	assert.Equal(t, "the job of the other model meanwhile", harness.StateAt(s, "a", "p1").Status, "processing")
	harness.WantCode(t, "an id of the other model", harness.StateAt(s, odd, "waits1"), http.StatusNotFound)
	assert.Equal(t, "the default model at the root", harness.StateOf(s, "waits1").Status, "starting")

	var health struct {
		Fleet struct {
			Connected                bool
			Stored, Waiting, Running int
		}
	}
	harness.Decode(t, s.Do(http.MethodGet, "/models/a/health-check", nil), &health)
	if f := health.Fleet; !f.Connected || f.Stored != 6 || f.Waiting != 5 || f.Running != 1 {
		t.Errorf("got the queue %+v in the health of a, want 6 jobs, of which 5 wait", f)
	}
	harness.Decode(t, s.Do(http.MethodGet, "/models/meta%2Fllama-3.1:8b/health-check", nil), &health)
	assert.Equal(t, "stored jobs of the other model", health.Fleet.Stored, 0)
	page := string(s.Do(http.MethodGet, "/metrics", nil).Body)
	for _, want := range []string{
		`pinion_jobs_waiting{model="a"} 5`, `pinion_jobs_running{model="a"} 1`, `pinion_jobs_waiting{model="` + odd + `"} 0`,
	} {
		assert.Contains(t, "the metrics", page, want)
	}

	// Another server has only one of the models, by the same name alone.
	alone := startSeveral(t, at.URL, dir, []string{"a"}, "--result-ttl", "1m")
	open()
	harness.WaitStatus(t, alone, "p1", "succeeded")
	harness.WaitStatus(t, alone, "waits4", "succeeded")
	harness.WantCode(t, "the model that it lacks", harness.StateAt(alone, odd, "p1"), http.StatusNotFound)
}

// TestSeveral_ServerIsKilled with jobs of two models: another server runs what it had.
func TestSeveral_ServerIsKilled(t *testing.T) {
	t.Parallel()
	at := harness.StartNATSOf(t, "a", "b")
	dir := t.TempDir()
	dies := startSeveral(t, at.URL, dir, []string{"a", "b"})
	for _, model := range []string{"a", "b"} {
		harness.MakeFIFO(t, filepath.Join(dir, model), "gate")
		harness.EnqueueAt(t, dies, model, "runs", harness.Input{"gate": "gate"})
		harness.WaitStatusAt(t, dies, model, "runs", "processing")
		for i := range 10 {
			harness.EnqueueAt(t, dies, model, fmt.Sprint("waits", i), harness.Input{"text": fmt.Sprint(i)})
		}
	}
	dies.Kill()
	next := startSeveral(t, at.URL, dir, []string{"a", "b"})
	for _, model := range []string{"a", "b"} {
		for i := range 10 {
			end := harness.WaitStatusAt(t, next, model, fmt.Sprint("waits", i), "succeeded")
			if by, _, _, text := harness.SaidBy(t, end); by != model || text != fmt.Sprint(i) {
				t.Errorf("job %d of %s: got %q of %s, want by %q and text %q", i, model, text, by, model, fmt.Sprint(i))
			}
		}
		assert.Eventually(t, "the lost job of "+model+" has succeeded", func() bool {
			harness.OpenFIFO(filepath.Join(dir, model, "gate"))
			return harness.StateAt(next, model, "runs").Status == "succeeded"
		})
	}
}

// TestSeveral_JobLoadsModel that is not loaded, again after it was unloaded. One that only a client loads refuses, and
// keeps what other servers accepted.
func TestSeveral_JobLoadsModel(t *testing.T) {
	t.Parallel()
	at := harness.StartNATSOf(t, "a", "b", "c")
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		modelFolder(t, dir, name)
	}
	file := filepath.Join(dir, "pinion.yaml")
	harness.WriteFile(t, file, `
models:
  a: {path: a}
  b: {path: b, load: on-demand, idle-timeout: 100ms}
  c: {path: c, load: manual}
`)
	s := harness.Start(t, harness.Options{
		Python: harness.AnyPython(t).Path, Dir: dir, Models: []string{"--config", file},
		Args: []string{"--nats", at.URL, "--ack-wait", "15s", "--reload"},
	})
	harness.WaitModels(t, s)
	for _, id := range []string{"first", "second"} {
		waitState(t, s, "b", "unloaded")
		harness.EnqueueAt(t, s, "b", id, harness.Input{"text": id})
		harness.WaitStatusAt(t, s, "b", id, "succeeded")
	}
	waitState(t, s, "b", "unloaded")
	harness.WantCode(t, "what does not fit",
		s.Do(http.MethodPost, "/models/b/predictions", `{"input":{"text":1}}`, "Prefer",
			"respond-async"), http.StatusUnprocessableEntity) // it was loaded before, so its inputs are known
	refused := s.Do(http.MethodPost, "/models/c/predictions", `{"input":{}}`, "Prefer", "respond-async")
	harness.WantAnswer(t, "a job for a model that a client loads", refused, http.StatusServiceUnavailable,
		"Model c is not loaded: POST /models/c/load loads it")

	g := harness.StartGatewayOf(t, at.URL, "c")
	harness.Enqueue(t, g.Server, "kept", harness.Input{"text": "kept"})
	assert.Equal(t, "its state", harness.StateOf(g.Server, "kept").Status, "starting")
	harness.WantCode(t, "load", s.Do(http.MethodPost, "/models/c/load", nil), http.StatusOK)
	harness.WaitStatus(t, g.Server, "kept", "succeeded")
}

// waitState waits until a model is in a state.
func waitState(t *testing.T, s *harness.Server, model, state string) {
	t.Helper()
	assert.Eventually(t, model+" is "+state, func() bool {
		var entry struct{ State string }
		harness.Decode(t, s.Do(http.MethodGet, "/models/"+model, nil), &entry)
		return entry.State == state
	})
}

// TestSeveral_FileChanges: jobs of a model that leaves the file wait for other servers, and those of a new one run.
func TestSeveral_FileChanges(t *testing.T) {
	t.Parallel()
	at := harness.StartNATSOf(t, "a", "b", "c")
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		modelFolder(t, dir, name)
	}
	file := filepath.Join(dir, "pinion.yaml")
	write := func(models string) { harness.WriteFile(t, file, "models:\n"+models) }
	write("  a: {path: a}\n  b: {path: b}\n")
	s := harness.Start(t, harness.Options{
		Python: harness.AnyPython(t).Path, Dir: dir, Models: []string{"--config", file},
		Args: []string{"--nats", at.URL, "--ack-wait", "15s"},
	})
	harness.WaitModels(t, s)
	open := harness.MakeFIFO(t, filepath.Join(dir, "b"), "gate")
	harness.EnqueueAt(t, s, "b", "runs", harness.Input{"gate": "gate"})
	harness.WaitStatusAt(t, s, "b", "runs", "processing")
	harness.EnqueueAt(t, s, "b", "waits", harness.Input{})
	write("  c: {path: c}\n  a: {path: a, queue: 7}\n")
	harness.SendSignal(t, s.PID, syscall.SIGHUP)
	assert.Eventually(t, "the default model is another one", func() bool {
		return s.Do(http.MethodPost, "/predictions", `{"id":"root","input":{}}`, "Prefer", "respond-async").Code ==
			http.StatusAccepted && harness.StateAt(s, "c", "root").Code == http.StatusOK
	})
	harness.WaitStatusAt(t, s, "c", "root", "succeeded")
	harness.EnqueueAt(t, s, "a", "changed", harness.Input{})
	harness.WaitStatusAt(t, s, "a", "changed", "succeeded")
	g := harness.StartGatewayOf(t, at.URL, "b")
	open()
	harness.WaitStatus(t, g.Server, "runs", "succeeded")
	assert.Equal(t, "the job that waited", harness.StateOf(g.Server, "waits").Status, "starting")
	startSeveral(t, at.URL, dir, []string{"b"})
	harness.WaitStatus(t, g.Server, "waits", "succeeded")
}

// TestSeveral_NamesOfQueues: a name with other characters has a queue of its own. A model whose queue would have the
// same name is refused.
func TestSeveral_NamesOfQueues(t *testing.T) {
	t.Parallel()
	const odd = "x.y"
	queue := state.QueueName(odd)
	at := harness.StartNATSOf(t, queue)
	dir := t.TempDir()
	s := startSeveral(t, at.URL, dir, []string{odd})
	harness.Enqueue(t, s, "p1", harness.Input{})
	harness.WaitStatus(t, s, "p1", "succeeded")
	harness.WantRefused(t, harness.Options{
		Python: harness.AnyPython(t).Path, Dir: dir, Models: []string{queue + "=" + modelFolder(t, dir, queue)},
		Args: []string{"--nats", at.URL, "--ack-wait", "15s"},
	}, 2, "the stream PINION_JOBS_"+queue+" has the jobs of the model x.y, so the model "+queue+
		" can have no queue beside it: rename one of them")
	harness.WantRefused(t, harness.Options{
		Python: harness.AnyPython(t).Path, Dir: dir, Models: []string{"a=" + modelFolder(t, dir, "a"), "b=" + dir + "/a"},
		Args: []string{"--nats", at.URL, "--result-ttl", "20s"},
	}, 2, "--result-ttl 20s: with --nats it is 1m0s")
}

// TestSeveral_EmbeddedNATS: each model keeps its jobs in its own folder, beside any other models, or
// all in the folder that is given.
func TestSeveral_EmbeddedNATS(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	for i, embed := range []string{"embed", "embed:" + t.TempDir()} {
		o := harness.Options{
			Python: harness.AnyPython(t).Path, Dir: dir, Env: []string{"XDG_STATE_HOME=" + home},
			Models: []string{"a=" + modelFolder(t, dir, "a"), "b=" + modelFolder(t, dir, "b")},
			Args:   []string{"--nats", embed, "--ack-wait", "15s"},
		}
		s := harness.Start(t, o)
		harness.WaitModels(t, s)
		gate := fmt.Sprint("gate", i)
		harness.MakeFIFO(t, filepath.Join(dir, "b"), gate)
		harness.EnqueueAt(t, s, "a", "p1", harness.Input{})
		harness.WaitStatusAt(t, s, "a", "p1", "succeeded")
		harness.EnqueueAt(t, s, "b", "runs", harness.Input{"gate": gate})
		harness.WaitStatusAt(t, s, "b", "runs", "processing")
		harness.EnqueueAt(t, s, "b", "waits", harness.Input{"text": "later"})
		s.Kill()
		if embed == "embed" { // b is the only model of the next server
			o.Models = o.Models[1:]
		}
		next := harness.Start(t, o)
		harness.WaitModels(t, next)
		harness.WaitStatusAt(t, next, "b", "waits", "succeeded")
		assert.Eventually(t, "the job that ran has succeeded", func() bool {
			harness.OpenFIFO(filepath.Join(dir, "b", gate))
			return harness.StateAt(next, "b", "runs").Status == "succeeded"
		})
		next.Stop()
	}
}
