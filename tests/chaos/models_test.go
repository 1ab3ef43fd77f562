package chaos

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// modelsOfScene: models that are left alone, killed, changed, loaded and unloaded, and two that share memory for one.
const modelsOfScene = `
memory: 10GiB
models:
  steady: {path: steady, workers: 2, memory: 1MiB}
  killed: {path: killed, workers: 2, memory: 1MiB}
  changed: {path: changed, queue: QUEUE, memory: 1MiB}
  swapped: {path: swapped, queue: QUEUE, memory: 1MiB, reload-strategy: stop-first}
  switched: {path: switched, load: on-demand, memory: 1MiB}
  first: {path: first, load: on-demand, memory: 6GiB}
  second: {path: second, load: on-demand, memory: 6GiB}
`

// modelClient sends requests to one model again and again.
type modelClient struct {
	model    string
	excuse   string // what the error of an answer that may fail has in it; "" means none may
	answers  atomic.Int64
	excused  atomic.Int64
	lastHost atomic.Int64 // the process that answered last
}

// run asks until stop is closed. Each answer is the model's own and for this request, or has an excuse.
func (c *modelClient) run(t *testing.T, s *harness.Server, number int, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		text := fmt.Sprintf("%d-%d", number, i)
		a := harness.PredictBy(s, c.model, harness.Input{"text": text})
		words := strings.Fields(strings.Trim(string(a.Output), `"`))
		switch {
		case a.Status == "succeeded" && len(words) == 4 && words[0] == c.model && words[3] == text:
			pid, _ := strconv.ParseInt(words[2], 10, 64)
			c.lastHost.Store(pid)
			c.answers.Add(1)
		case c.excuse != "" && strings.Contains(string(a.Body), c.excuse):
			c.excused.Add(1)
		default:
			t.Errorf("%s, request %s: got %s, want its own text", c.model, text, a)
			return
		}
	}
}

// TestModels_OfOneServer: while workers of one model are killed, two are replaced, one of them after its end, one is
// loaded and unloaded, the file of models is broken and two take turns in memory for one, every request has its own
// model's answer, and only what ran on a killed worker, or came for a model that a client has unloaded, fails.
func TestModels_OfOneServer(t *testing.T) {
	t.Parallel()
	rounds := 1
	if harness.IsFull() {
		rounds = harness.Soak(100, 8)
	}
	names := []string{"steady", "killed", "changed", "swapped", "switched", "first", "second"}
	pythons := map[string]harness.Python{}
	for i, name := range names {
		pythons[name] = []harness.Python{harness.OldestPython(t), harness.NewestPython(t)}[i%2]
	}
	dir, _ := harness.ModelFolders(t, pythons)
	file := filepath.Join(dir, "pinion.yaml")
	write := func(queue int) {
		harness.WriteFile(t, file, strings.ReplaceAll(modelsOfScene, "QUEUE", strconv.Itoa(queue)))
	}
	write(20)
	s := harness.Start(t, harness.Options{
		Dir: t.TempDir(), Models: []string{"--config", file},
		Args: []string{"--reload", "--queue", "50", "--queue-timeout", "10m"},
	})
	harness.WaitModels(t, s)

	clients := map[string]*modelClient{}
	stop, running := make(chan struct{}), sync.WaitGroup{}
	for _, name := range names {
		c := &modelClient{model: name}
		clients[name] = c
		c.excuse = map[string]string{"killed": "worker killed (SIGKILL)", "switched": "is not loaded"}[name]
		for number := range 2 {
			running.Go(func() { c.run(t, s, number, stop) })
		}
	}
	for round := range rounds {
		before := map[string]int64{}
		for name, c := range clients {
			before[name] = c.answers.Load()
		}
		if pid := int(clients["killed"].lastHost.Load()); pid != 0 && harness.Alive(pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		harness.WantCode(t, "unload", s.Do(http.MethodPost, "/models/switched/unload", nil), http.StatusOK)
		broken(t, s, file)
		harness.WantCode(t, "load", s.Do(http.MethodPost, "/models/switched/load", nil), http.StatusOK)
		write(21 + round)
		s.Signal(syscall.SIGHUP)
		assert.Eventually(t, "every model answers again", func() bool {
			for name, c := range clients {
				if c.answers.Load() < before[name]+3 {
					return t.Failed()
				}
			}
			return true
		})
		if t.Failed() {
			break
		}
	}
	close(stop)
	running.Wait()
	for name, c := range clients {
		t.Logf("%s: %d answers, %d excused", name, c.answers.Load(), c.excused.Load())
	}
	if n := clients["killed"].excused.Load(); n > int64(rounds) {
		t.Errorf("killed: got %d lost predictions, want one for each kill at most", n)
	}
}

// broken makes the server read a file with a mistake, which changes nothing.
func broken(t *testing.T, s *harness.Server, file string) {
	t.Helper()
	const refused = "the file of models has a mistake: nothing changes"
	before := s.Log.Count(refused)
	harness.WriteFile(t, file, "models: {steady: {path: nowhere}}\n")
	s.Signal(syscall.SIGHUP)
	assert.Eventually(t, refused, func() bool { return s.Log.Count(refused) > before })
}
