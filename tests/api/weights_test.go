package api

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// fileServer serves one file as servers of files do, once it is opened.
type fileServer struct {
	*httptest.Server
	data   atomic.Pointer[[]byte]
	opened chan struct{}
	sent   atomic.Int64
	asked  atomic.Int64
	gone   atomic.Bool
}

func newFileServer(t *testing.T, data []byte) *fileServer {
	t.Helper()
	f := &fileServer{opened: make(chan struct{})}
	f.data.Store(&data)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.asked.Add(1)
		if f.gone.Load() {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		data := *f.data.Load()
		if r.Header.Get("Range") != "bytes=0-0" {
			select {
			case <-f.opened:
			case <-r.Context().Done():
				return
			}
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, len(data)))
		http.ServeContent(countWrites{w, &f.sent}, r, "", time.Time{}, bytes.NewReader(data))
	}))
	t.Cleanup(f.Close)
	return f
}

type countWrites struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c countWrites) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}

// weightsModel tells the size of its weights. With early, setup begins without them.
const weightsModel = `import os
import cog

print("imported", flush=True)

class Runner:
    def setup(self):
        print("setup begins", flush=True)
        folder = cog.weights("base")
        self.size = sum(os.path.getsize(f"{folder}/{n}") for n in os.listdir(folder) if n[0] != ".")
        try:
            cog.weights("other")
        except LookupError as error:
            self.error = str(error)

    def run(self) -> str:
        return f"{self.size} {self.error}"
`

func weightsFolder(t *testing.T, source, more string) string {
	t.Helper()
	return harness.NewFolder(t, "run.py", weightsModel, "cog.yaml", `run: run.py:Runner
weights:
  - name: base
    target: /src/weights/base
    source: {uri: `+source+`}
`+more)
}

// weightsHealth is what health says of weights.
type weightsHealth struct {
	Status  string
	Weights *struct {
		Done       int64 `json:"done_bytes"`
		Total      int64 `json:"total_bytes"`
		Files      int
		TotalFiles int `json:"total_files"`
	}
}

func weightsOf(t *testing.T, s *harness.Server) (h weightsHealth) {
	t.Helper()
	harness.FromJSON(t, s.Do(http.MethodGet, "/health-check", nil).Body, &h)
	return h
}

// TestWeights_AreThereBeforeSetup: the model is imported while weights are fetched, and set up when they are there. The
// time of the setup begins then.
func TestWeights_AreThereBeforeSetup(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"plain": nil, "preloaded": {"--preload", "--workers", "2"}, "set up once": {"--preload=setup", "--workers", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := bytes.Repeat([]byte("weights "), 1<<18)
			f := newFileServer(t, data)
			s := harness.Start(t, harness.Options{
				Dir:  weightsFolder(t, f.URL+"/a.bin", ""),
				Env:  []string{"PINION_CACHE_DIR=" + t.TempDir()},
				Args: append(args, "--setup-timeout", "60s"),
			})
			waitRecord(t, s, "imported")
			assert.Eventually(t, "health shows the fetch", func() bool {
				h := weightsOf(t, s)
				return h.Status == "STARTING" && h.Weights != nil && h.Weights.Total == int64(len(data)) &&
					h.Weights.TotalFiles == 1 && h.Weights.Files == 0
			})
			assert.True(t, recordsWith(s, "setup begins") == 0, "setup ran before the weights were there:\n%s", s.Log)
			close(f.opened)
			s.WaitHealth("READY")
			waitRecord(t, s, "weights are there")
			harness.WantOutput(t, "the model", s.Input(map[string]any{}),
				fmt.Sprintf("%d there are no weights 'other': cog.yaml has base", len(data)))
			assert.True(t, weightsOf(t, s).Weights == nil, "health has weights still")
			got := harness.ReadFile(t, filepath.Join(s.Dir, "weights/base/a.bin"))
			assert.True(t, got == string(data), "got %d other bytes at the target", len(got))
		})
	}
}

// TestWeights_SetupMayBeginWithoutThem: with wait: false, the model waits for them itself.
func TestWeights_SetupMayBeginWithoutThem(t *testing.T) {
	t.Parallel()
	f := newFileServer(t, []byte("four"))
	s := harness.Start(t, harness.Options{
		Dir: weightsFolder(t, f.URL+"/a.bin", "    wait: false\n"), Env: []string{"PINION_CACHE_DIR=" + t.TempDir()},
	})
	waitRecord(t, s, "setup begins")
	close(f.opened)
	s.WaitHealth("READY")
}

// TestWeights_ThatCannotBeFetched: the setup fails with the line of cog.yaml, and a reload tries again.
func TestWeights_ThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	f := newFileServer(t, []byte("four"))
	f.gone.Store(true)
	close(f.opened)
	s := harness.Start(t, harness.Options{
		Dir:  weightsFolder(t, f.URL+"/a.bin?signature=secret", ""),
		Env:  []string{"PINION_CACHE_DIR=" + t.TempDir()},
		Args: []string{"--fail-fast=false"},
	})
	h := s.WaitHealth("SETUP_FAILED")
	assert.Contains(t, "logs", h.Setup.Logs, "cog.yaml:3: weights base: get "+f.URL+"/a.bin: the server answered 404 Not Found")
	_, err := os.Stat(filepath.Join(s.Dir, "weights"))
	assert.True(t, os.IsNotExist(err), "there is a target: %v", err)
	assert.False(t, strings.Contains(s.Log.String(), "secret"), "the log has the signature of the URL:\n%s", s.Log)
	f.gone.Store(false)
	harness.SendSignal(t, s.PID, syscall.SIGHUP)
	s.WaitHealth("READY")
	harness.WantOutput(t, "the model", s.Input(map[string]any{}), "4 there are no weights 'other': cog.yaml has base")
}

// TestWeights_AfterKill: a server that was killed while it fetched leaves nothing at the target, and the next one goes
// on. One whose source has changed has the new file after a reload.
func TestWeights_AfterKill(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("weights "), 1<<18)
	f := newFileServer(t, data)
	o := harness.Options{
		Dir: weightsFolder(t, f.URL+"/a.bin", ""), Env: []string{"PINION_CACHE_DIR=" + t.TempDir()},
	}
	s := harness.Start(t, o)
	assert.Eventually(t, "it fetches", func() bool { return f.asked.Load() > 1 })
	s.Kill()
	_, err := os.Stat(filepath.Join(o.Dir, "weights/base/a.bin"))
	assert.True(t, os.IsNotExist(err), "there is something at the target: %v", err)
	close(f.opened)
	s = harness.Start(t, o)
	s.WaitHealth("READY")
	sent := f.sent.Load()
	assert.True(t, sent < int64(2*len(data)), "%d bytes were sent for a file of %d", sent, len(data))
	newer := []byte("newer")
	f.data.Store(&newer)
	harness.SendSignal(t, s.PID, syscall.SIGHUP)
	assert.Eventually(t, "the model has the new weights", func() bool {
		return strings.Contains(s.Input(map[string]any{}).String(), "5 there are no")
	})
	assert.Equal(t, "the target", harness.ReadFile(t, filepath.Join(o.Dir, "weights/base/a.bin")), "newer")
}
