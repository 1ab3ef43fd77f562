package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pinion/tests/harness"
)

const (
	// scarceMemory is what a server has that is to be short of memory, and littleMemory what is left of that, in bytes:
	// enough for the front, and not for a worker.
	scarceMemory, littleMemory, workerMiB = 320 << 20, 48 << 20, 96
	// mostAtRest is what a server may hold for its clients when all are answered: ended predictions.
	mostAtRest = 4 << 20
)

// shortage is something that keeps a server from having a worker, for a while.
type shortage struct {
	name string
	// begin brings it about. end is nil if it passes by itself.
	begin func(t *testing.T, s *harness.Server) (end func())
	wrap  []string // a command that becomes the server
	alone bool     // no other client is served while begin runs
}

// shortages are those that can be had here.
func shortages(t *testing.T) []shortage {
	list := []shortage{
		{"descriptors", func(t *testing.T, s *harness.Server) func() {
			end := harness.EndDescriptors(t, s.PID)
			harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
			return end
		}, nil, false},
		{"crashes", crashes, nil, true},
	}
	if limit, enter, ok := harness.ProcessGroup(t); ok {
		setLimit(t, limit, "1000") // the server counts on it from its start on
		list = append(list, shortage{"processes", func(t *testing.T, s *harness.Server) func() {
			now, err := strconv.Atoi(strings.TrimSpace(harness.ReadFile(t, filepath.Join(filepath.Dir(limit), "pids.current"))))
			if err != nil {
				t.Fatal(err)
			}
			worker := s.Worker()
			threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", worker)) // a fixed pattern
			setLimit(t, limit, strconv.Itoa(now-len(threads)))
			harness.SendSignal(t, worker, syscall.SIGKILL)
			return func() { setLimit(t, limit, "max") }
		}, enter, false})
	} else {
		t.Log("no control group can be made: processes are never short")
	}
	if folder, enter, ok := harness.MemoryGroup(t, scarceMemory); ok && !harness.Sanitized(t) {
		list = append(list, shortage{"memory", func(t *testing.T, s *harness.Server) func() {
			refill, end := fillMemory(t, folder)
			worker := s.Worker()
			s.Signal(syscall.SIGSTOP) // before the next worker can take what this one had
			harness.SendSignal(t, worker, syscall.SIGKILL)
			harness.Eventually(t, "the worker ends", func() bool { return !harness.Alive(worker) })
			refill()
			s.Signal(syscall.SIGCONT)
			return end
		}, enter, false})
	} else {
		t.Log("no control group can be made: memory is never short")
	}
	return list
}

func setLimit(t *testing.T, file, value string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(value), 0); err != nil {
		t.Fatal(err)
	}
}

// crashes has one client crash workers, until the server starts none for a while. Nobody else has a success meanwhile.
func crashes(t *testing.T, s *harness.Server) func() {
	const tripped = "workers die too often: the server takes no predictions until a worker is tried again"
	harness.Eventually(t, "the server starts no worker", func() bool {
		a := s.Input(map[string]any{"token": "crash", "do": "abort"})
		if a.Err != nil || !excusable(a) {
			t.Errorf("got %s, want that the worker has died", a)
		}
		return s.Log.Count(tripped) > 0
	})
	return nil
}

// balloon takes all memory of a control group but a little, again at each line that it reads. The kernel does not end
// it.
const balloon = `
import sys
folder, most = sys.argv[1], int(sys.argv[2])
open(folder + "/cgroup.procs", "w").write("0")
open("/proc/self/oom_score_adj", "w").write("-1000")
def used():  # without files in the cache, which the kernel takes back
    with open(folder + "/memory.stat") as file:
        return sum(int(line.split()[1]) for line in file if line.split()[0] in ("rss", "anon"))
held = []
for _ in sys.stdin:
    while used() < most:
        held.append(b"\x01" * (1 << 20))
    print("full", flush=True)
`

// fillMemory leaves a little memory in a control group. Call refill after each process that has ended.
func fillMemory(t *testing.T, folder string) (refill, end func()) {
	t.Helper()
	c := exec.Command(harness.AnyPython(t).Path, "-c", balloon, folder, strconv.Itoa(scarceMemory-littleMemory))
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		in.Close()
		_ = c.Wait()
	})
	t.Cleanup(end)
	refill = func() {
		_, err := in.Write([]byte{'\n'})
		if err == nil {
			_, err = out.Read(make([]byte, len("full\n")))
		}
		if err != nil {
			t.Fatalf("fill the memory: %v", err)
		}
	}
	refill()
	return refill, end
}

// TestShortages: something runs short while clients are served, and a worker ends. As soon as there is enough again,
// there is a worker, everyone is answered, and the server holds no more than before.
func TestShortages(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	for _, c := range shortages(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{
				Model: "chaos.py:Plain", Wrap: c.wrap, Env: []string{fmt.Sprint("WEIGHTS_MIB=", workerMiB)},
				Args: []string{"--queue", "100", "--memory-budget", "64MiB"},
			})
			l := beginLoad(t, s)
			l.more(5 * honest)
			before := harness.Descriptors(t, s.PID)
			l.enter("short of workers", true)
			if c.alone {
				l.end()
			}
			end := c.begin(t, s)
			if c.alone {
				l = beginLoad(t, s)
				l.enter("short of workers", true)
			}
			harness.Eventually(t, "the server waits before it starts a worker", func() bool {
				h := s.Health()
				return h.Workers[0].NextStart != "" && h.Workers[0].LastExit != ""
			})
			harness.WantCode(t, "/livez", s.Do("GET", "/livez", nil), 200)
			if end != nil {
				harness.Eventually(t, "several starts have failed", func() bool { return l.failedStarts(s) >= 3 })
				end()
			}
			s.WaitHealth("READY")
			l.more(1) // what came during the shortage is answered
			l.enter("with a worker again", false)
			l.more(5 * honest)
			l.end()
			harness.Eventually(t, "the server holds what it held", func() bool {
				used, _, _ := harness.MemoryBudget(t, s)
				return used <= mostAtRest && harness.Descriptors(t, s.PID) <= before+extraDescriptors
			})
		})
	}
}

// failedStarts is how many workers the server could not start, or lost before they were ready.
func (l *load) failedStarts(s *harness.Server) int {
	return s.Log.Count("worker not started: the server tries again") + s.Log.Count("worker ended") - 1
}
