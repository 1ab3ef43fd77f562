package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// fleetAttempts is how often a prediction of the fleet may run: more servers are killed than one should lose.
const fleetAttempts = 8

// fleet is several servers with one job queue, whose clients note what they were told.
type fleet struct {
	t      *testing.T
	nats   *harness.NATS
	dir    string // the model's folder, of all servers
	client *http.Client
	source *rand.Rand // of the faults alone

	mu      sync.Mutex
	servers []*harness.Server
	journal *os.File

	accepted atomic.Int64
	begun    atomic.Int64 // faults
	hooked   sync.Map     // ids
}

// TestFleet_LosesNoJob sends jobs while servers are killed and frozen and NATS is killed and frozen. PINION_CHAOS_JOBS
// says how many. What they were told, and what the models wrote down, is judged by the program in the folder
// fleetchecker.
func TestFleet_LosesNoJob(t *testing.T) {
	harness.Full(t)
	seed := uint64(setting(t, "PINION_CHAOS_SEED", defaultSeed))
	jobs := setting(t, "PINION_CHAOS_JOBS", harness.Soak(10_000, 1500))
	f := newFleet(t, seed)
	hooks := httptest.NewServer(http.HandlerFunc(f.webhook))
	t.Cleanup(hooks.Close)

	var clients sync.WaitGroup
	ids := make(chan int)
	for n := range 16 {
		source := rand.New(rand.NewPCG(seed, uint64(n)))
		clients.Go(func() {
			for i := range ids {
				f.ask(source, fmt.Sprint("p", i), hooks.URL)
			}
		})
	}
	const perFault = 200
	planned := max(6, jobs/perFault)
	faulted := make(chan struct{})
	go func() {
		defer close(faulted)
		f.faults(planned)
	}()
	for i := range jobs {
		for f.begun.Load() < int64(i*planned/jobs) { // so that jobs are accepted during each of them
			time.Sleep(10 * time.Millisecond)
		}
		ids <- i
	}
	close(ids)
	clients.Wait()
	<-faulted
	t.Logf("seed %d: %d accepted, %d faults", seed, f.accepted.Load(), planned)
	f.check(jobs)
	f.judge()
}

func newFleet(t *testing.T, seed uint64) *fleet {
	t.Helper()
	f := &fleet{
		t: t, nats: harness.StartNATS(t), dir: t.TempDir(), client: &http.Client{Timeout: 10 * time.Second},
		source: rand.New(rand.NewPCG(seed, 99)),
	}
	text, err := os.ReadFile("models/fleet.py")
	if err == nil {
		err = os.WriteFile(filepath.Join(f.dir, "fleet.py"), text, 0o600)
	}
	if err == nil {
		f.journal, err = os.Create(filepath.Join(t.TempDir(), "journal.jsonl"))
	}
	assert.NoError(t, err)
	t.Cleanup(func() { f.journal.Close() })
	for range 3 {
		f.servers = append(f.servers, f.serve())
	}
	return f
}

func (f *fleet) serve() *harness.Server {
	return harness.Ready(f.t, harness.Options{Model: "fleet.py:Runner", Dir: f.dir, Args: []string{
		"--nats", f.nats.URL, "--model", "m", "--ack-wait", "15s", "--result-ttl", "6h", "--attempts",
		fmt.Sprint(fleetAttempts), "--concurrency", "8",
	}})
}

// faults causes one fault after another; at the end nothing is broken any more.
func (f *fleet) faults(planned int) {
	for range planned {
		time.Sleep(time.Duration(1+f.source.IntN(3)) * time.Second)
		f.begun.Add(1)
		victim := f.source.IntN(len(f.servers))
		f.mu.Lock()
		s := f.servers[victim]
		f.mu.Unlock()
		switch f.source.IntN(6) {
		case 0, 1:
			s.Signal(syscall.SIGKILL)
			s.Killed()
			next := f.serve()
			f.mu.Lock()
			f.servers[victim] = next
			f.mu.Unlock()
		case 2: // longer than it may be silent
			s.Signal(syscall.SIGSTOP)
			time.Sleep(20 * time.Second)
			s.Signal(syscall.SIGCONT)
		case 3:
			s.Signal(syscall.SIGSTOP)
			time.Sleep(2 * time.Second)
			s.Signal(syscall.SIGCONT)
		case 4:
			f.nats.Kill()
			time.Sleep(time.Duration(f.source.IntN(3)) * time.Second)
			f.nats.Start()
		case 5:
			f.nats.Signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(1+f.source.IntN(8)) * time.Second)
			f.nats.Signal(syscall.SIGCONT)
		}
	}
}

// answer is what a client reads of an answer.
type answer struct {
	Status string  `json:"status"`
	Output *string `json:"output"`
	Error  *string `json:"error"`
}

// do sends a request to some server; code 0 means that there was no answer.
func (f *fleet) do(source *rand.Rand, method, path string, body any) (code int, a answer) {
	f.mu.Lock()
	address := f.servers[source.IntN(len(f.servers))].Address
	f.mu.Unlock()
	var content io.Reader
	if body != nil {
		text, _ := json.Marshal(body)
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, address+path, content)
	if err != nil {
		f.t.Error(err)
		return 0, a
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Prefer", "respond-async")
	got, err := f.client.Do(request)
	if err != nil {
		return 0, a
	}
	defer got.Body.Close()
	if json.NewDecoder(got.Body).Decode(&a) != nil {
		return 0, a
	}
	return got.StatusCode, a
}

// ask sends a prediction to any server that accepts it, and cancels some.
func (f *fleet) ask(source *rand.Rand, id, hook string) {
	body := map[string]any{
		"input": map[string]any{"token": id, "seconds": source.Float64() / 2}, "webhook": hook,
		"webhook_events_filter": []string{"completed"},
	}
	for !f.t.Failed() {
		code, _ := f.do(source, http.MethodPut, "/predictions/"+id, body)
		if code == http.StatusAccepted {
			break
		}
		switch code {
		case 0, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		default:
			f.t.Errorf("%s: a PUT is answered %d, want 202, 429, 503 or no answer", id, code)
		}
		time.Sleep(100 * time.Millisecond)
	}
	f.note(map[string]string{"id": id, "what": "accepted"})
	f.accepted.Add(1)
	if source.IntN(10) > 0 {
		return
	}
	f.note(map[string]string{"id": id, "what": "asked"})
	if code, _ := f.do(source, http.MethodPost, "/predictions/"+id+"/cancel", nil); code == http.StatusOK {
		f.note(map[string]string{"id": id, "what": "canceled"})
	}
}

// webhook notes the end of a prediction.
func (f *fleet) webhook(_ http.ResponseWriter, request *http.Request) {
	var p struct {
		answer
		ID string `json:"id"`
	}
	if err := json.NewDecoder(request.Body).Decode(&p); err != nil {
		return // its server was killed: the webhook comes again
	}
	f.end(p.ID, "webhook", p.answer)
	f.hooked.Store(p.ID, true)
}

func (f *fleet) end(id, what string, a answer) {
	n := map[string]string{"id": id, "what": what, "status": a.Status}
	if a.Output != nil && a.Status == "succeeded" { // what a canceled run had yielded is not a result
		n["output"] = *a.Output
	}
	if a.Error != nil {
		n["error"] = *a.Error
	}
	f.note(n)
}

func (f *fleet) note(n map[string]string) {
	text, err := json.Marshal(n)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		_, err = f.journal.Write(append(text, '\n'))
	}
	if err != nil {
		f.t.Error(err)
	}
}

// calm is how long check waits for an end once the faults are over, and fleetPause is the time between two requests.
const (
	calm       = 5 * time.Minute
	fleetPause = 50 * time.Millisecond
)

// check waits until each prediction has ended and its webhook came, and notes its end as two servers tell it.
func (f *fleet) check(jobs int) {
	source := rand.New(rand.NewPCG(1, 1))
	for i := range jobs {
		id := fmt.Sprint("p", i)
		for range 2 {
			var code int
			var a answer
			if !assert.Within(calm, fleetPause, func() bool {
				code, a = f.do(source, http.MethodGet, "/predictions/"+id, nil)
				return code == http.StatusOK && a.Status != "starting" && a.Status != "processing"
			}) {
				f.t.Fatalf("%s runs after %s without a fault, want its end: %d %+v", id, calm, code, a)
			}
			f.end(id, "state", a)
		}
	}
	for i := range jobs {
		if !assert.Within(calm, fleetPause, func() bool {
			_, ok := f.hooked.Load(fmt.Sprint("p", i))
			return ok
		}) {
			f.t.Errorf("got no webhook of p%d within %s without a fault, want it", i, calm)
		}
	}
}

// judge runs the checker.
func (f *fleet) judge() {
	out, err := exec.Command(fleetChecker, "-attempts", fmt.Sprint(fleetAttempts), f.journal.Name(),
		filepath.Join(f.dir, "ledger.txt")).CombinedOutput()
	if err != nil {
		f.t.Errorf("the checker: got %v, want no error\n%s", err, out)
		return
	}
	f.t.Logf("%s", out)
}
