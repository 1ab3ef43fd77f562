package workers

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// The long runs. ./build.sh test-full runs them, quick ones unless PINION_SOAK=1 asks for their full length. None is
// parallel, for they take all that the machine has.

// TestSoak_CancelStorm: each prediction returns its own token, or is canceled if and only if that was asked for.
func TestSoak_CancelStorm(t *testing.T) {
	harness.Full(t)
	for _, c := range []struct {
		name, model string
		python      harness.Python
		args        []string
	}{
		{"sync", "counting.py:Storm", harness.AnyPython(t), []string{"--queue", "32"}},
		{"async eager", "counting.py:AsyncStorm", harness.NewestPython(t), []string{"--queue", "32", "--concurrency", "4"}},
		{"async", "counting.py:AsyncStorm", harness.OldestPython(t), []string{"--queue", "32", "--concurrency", "4"}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			s := harness.Ready(t, harness.Options{Python: c.python.Path, Model: c.model, Args: c.args})
			worker := s.Worker()
			const width = 16
			share := harness.Soak(300_000, 6_000) / width
			var asked, canceled, late atomic.Int64
			harness.RunClients(t, width, func(client int) error {
				random := rand.New(rand.NewPCG(uint64(client), 1))
				for i := range share {
					id := fmt.Sprintf("c%d-%d", client, i)
					in := harness.Input{"token": id, "turns": random.IntN(2000)}
					if random.IntN(4) == 0 {
						in["wait"] = random.Float64() / 1000
					}
					ask, spin := random.IntN(2) == 0, random.IntN(300)
					var cancel sync.WaitGroup
					if ask {
						asked.Add(1)
						cancel.Go(func() {
							for range spin { // to come at every moment of its life
								runtime.Gosched()
							}
							s.Cancel(id)
						})
					}
					a := s.Create(harness.Input{"id": id, "input": in})
					cancel.Wait()
					switch {
					case a.Err != nil || a.Code != http.StatusOK || a.ID != id:
						return fmt.Errorf("%s: %s", id, a)
					case a.Status == "canceled" && ask:
						canceled.Add(1)
					case a.Status == "succeeded" && string(a.Output) == `"`+id+`"`:
						if ask {
							late.Add(1)
						}
					default:
						return fmt.Errorf("%s, cancel asked: %v: %s", id, ask, a)
					}
				}
				return nil
			})
			t.Logf("%d predictions, %d cancels: %d came in time, %d too late", share*width, asked.Load(), canceled.Load(),
				late.Load())
			assert.True(t, canceled.Load() != 0 && late.Load() != 0,
				"got %d canceled and %d late, want some of each: the storm proves nothing", canceled.Load(), late.Load())
			harness.SameWorker(t, s, worker)
			s.Succeed(harness.Input{"token": "after"})
		})
	}
}

// TestSoak_MemoryAndDescriptorsStayFlat over many predictions, those that fail, log and are canceled among them.
func TestSoak_MemoryAndDescriptorsStayFlat(t *testing.T) {
	harness.Full(t)
	if harness.Sanitized(t) {
		t.Skip("a sanitizer keeps memory as it likes")
	}
	for _, c := range []struct {
		name, model string
		args        []string
	}{
		{"sync", "mixture.py:Sync", []string{"--queue", "32"}},
		{"async", "mixture.py:Async", []string{"--queue", "32", "--concurrency", "4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := harness.Ready(t, harness.Options{Model: c.model, Args: c.args})
			worker := s.Worker()
			load := func(total int) {
				t.Helper()
				const width = 8
				harness.RunClients(t, width, func(client int) error {
					for i := range total / width {
						n := client + i*width
						what, want := "nothing", "succeeded"
						switch n % 20 {
						case 3:
							what, want = "raise", "failed"
						case 7:
							what = "print"
						case 11:
							what = "file"
						case 13:
							what = "metric"
						}
						a := s.Create(harness.Input{"input": harness.Input{"what": what, "text": strings.Repeat("x", n%3000)}})
						if a.Err != nil || a.Status != want {
							return fmt.Errorf("%s: %s", what, a)
						}
					}
					return nil
				})
				s.CloseIdle()
			}
			warm := harness.Soak(20_000, 4_000)
			load(warm)
			front, inWorker := harness.Resident(t, s.PID), harness.Resident(t, worker)
			frontFiles, workerFiles := harness.Descriptors(t, s.PID), harness.Descriptors(t, worker)
			load(harness.Soak(200_000, 4_000))
			if got := s.Worker(); got != worker {
				t.Fatalf("the worker was replaced: %+v: got %d, want %d", s.Health(), got, worker)
			}
			grownFront, grownWorker := harness.Resident(t, s.PID)-front, harness.Resident(t, worker)-inWorker
			t.Logf("the front grew by %d KiB from %d MiB, the worker by %d KiB from %d MiB",
				grownFront>>10, front>>20, grownWorker>>10, inWorker>>20)
			if grownFront > 16<<20 { // the garbage collector's breathing; a leak of 100 bytes is 20 MB
				t.Errorf("the front grew by %d KiB, want at most %d", grownFront>>10, 16<<20)
			}
			assert.True(t, grownWorker <= 2<<20, "the worker grew by %d KiB, want at most %d", grownWorker>>10, 2<<20)
			s.CloseIdle()
			assert.Eventually(t, "both have as many files open as before", func() bool {
				return harness.Descriptors(t, s.PID) <= frontFiles && harness.Descriptors(t, worker) <= workerFiles
			})
		})
	}
}
