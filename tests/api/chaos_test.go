package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// chaosSeed makes each run of the test ask for the same; what meets what is the machine's matter.
const chaosSeed = 4

// chaos is what the clients and the receivers of one run saw.
type chaos struct {
	s        *harness.Server
	receiver *httptest.Server

	mu        sync.Mutex
	ends      map[string]map[string]bool // by id: the terminal states that any client got
	delivered map[string]int             // by id: how often a receiver took completed in
	tries     map[string]int             // by id: how often completed was refused
	random    *rand.Rand                 // of the receiver
	faults    []string
}

// fault notes what must not be.
func (c *chaos) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// ended notes a terminal state.
func (c *chaos) ended(id, status string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ends[id] == nil {
		c.ends[id] = map[string]bool{}
	}
	c.ends[id][status] = true
}

func isFinal(status string) bool {
	return status == "succeeded" || status == "failed" || status == "canceled"
}

// maxRefusals is how often in a row a receiver refuses one prediction's completed: each costs twice as long a wait.
const maxRefusals = 3

// roundSize is how many predictions are asked for before all is looked at, far fewer than a server keeps.
const roundSize = 1000

// receive takes webhooks and uploads in, and refuses half of them.
func (c *chaos) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var p harness.Prediction
	isHook := r.Method == http.MethodPost
	if isHook && json.Unmarshal(body, &p) != nil {
		c.fault("a webhook is told %q", body)
	}
	id := strings.TrimPrefix(r.URL.Path, "/")
	c.mu.Lock()
	refuse := c.random.IntN(2) == 0 && c.tries[id] < maxRefusals
	drop := c.random.IntN(4) == 0
	if refuse && (!isHook || isFinal(p.Status)) {
		c.tries[id]++
	}
	if isHook && c.delivered[id] > 0 {
		c.faults = append(c.faults, fmt.Sprintf("%s: %s is told after completed was taken in", id, p.Status))
	}
	if !refuse && isFinal(p.Status) {
		c.delivered[id]++
	}
	c.mu.Unlock()
	switch {
	case refuse && drop:
		panic(http.ErrAbortHandler) // breaks the connection off
	case refuse:
		w.WriteHeader(http.StatusServiceUnavailable)
	case isHook && isFinal(p.Status):
		c.ended(id, p.Status)
	}
}

// ask is one prediction as its client wants it.
type ask struct {
	id, mode string
	leave    int // the client leaves: 1 at once, n at the n-th line of the answer; 0 means never
	hooked   bool
	body     []byte
}

// asks makes those of a round.
func (c *chaos) asks(round int) []ask {
	random := rand.New(rand.NewPCG(chaosSeed, uint64(round)))
	modes := []string{"sync", "put", "async", "stream", "wait"}
	list := make([]ask, roundSize)
	for i := range list {
		a := ask{id: fmt.Sprintf("chaos-%d-%d", round, i), mode: modes[i%len(modes)], hooked: random.IntN(2) == 0}
		if random.IntN(4) == 0 {
			a.leave = 1 + random.IntN(12)
		}
		in := harness.Input{
			"token": a.id, "n": random.IntN(6), "pause": float64(random.IntN(2)) / 1000,
			"fail": random.IntN(8) == 0,
		}
		if a.mode == "stream" && a.leave > 0 || a.leave == 1 && (a.mode == "sync" || a.mode == "put") { // its leaving cancels
			in["n"], in["pause"] = 400, 0.005
		}
		request := harness.Input{"id": a.id, "input": in}
		switch random.IntN(8) {
		case 0:
			in["file"] = "data:text/plain,hello"
		case 1:
			in["make"] = true
			request["output_file_prefix"] = c.receiver.URL + "/uploads"
		}
		if a.hooked {
			request["webhook"] = c.receiver.URL + "/" + a.id
		}
		a.body, _ = json.Marshal(request) // texts and numbers
		list[i] = a
	}
	return list
}

// perform sends one and takes its answer, and leaves when it is to. What is refused is sent again.
func (c *chaos) perform(a ask) error {
	for {
		again, err := c.send(a)
		if err != nil {
			return fmt.Errorf("%s (%s): %w", a.id, a.mode, err)
		}
		if !again {
			return nil
		}
	}
}

func (c *chaos) send(a ask) (again bool, err error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.s.Address, "http://"))
	if err != nil {
		return false, err
	}
	defer conn.Close()
	method, path, header := http.MethodPost, "/predictions", ""
	switch a.mode {
	case "put":
		method, path = http.MethodPut, "/predictions/"+a.id
	case "async":
		header = "Prefer: respond-async\r\n"
	case "wait":
		header = "Prefer: wait=0\r\n"
	case "stream":
		header = "Accept: text/event-stream\r\n"
	}
	if _, err := fmt.Fprintf(conn,
		"%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s",
		method, path, header, len(a.body), a.body); err != nil {
		return false, err
	}
	if a.leave == 1 {
		return false, nil
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return false, err
	}
	// Its body is not closed: that would read on to its end, and a client that leaves does not.
	switch code := response.StatusCode; {
	case response.Header.Get("Pinion-Retry") != "":
		return true, nil
	case code != http.StatusOK && code != http.StatusAccepted:
		return false, fmt.Errorf("status code %d", code)
	case response.Header.Get("Content-Type") == "text/event-stream":
		return false, c.follow(a, response.Body)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return false, err
	}
	return false, c.answered(a, body)
}

// answered notes an answer.
func (c *chaos) answered(a ask, body []byte) error {
	var p harness.Prediction
	if err := json.Unmarshal(body, &p); err != nil || p.ID != a.id {
		return fmt.Errorf("the answer is %q", body)
	}
	if isFinal(p.Status) {
		c.ended(a.id, p.Status)
	}
	return nil
}

// follow reads a stream, as far as its client wants.
func (c *chaos) follow(a ask, body io.Reader) error {
	lines := bufio.NewReader(body)
	completed := false
	for n := 2; ; n++ {
		if a.leave == n {
			return nil
		}
		line, err := lines.ReadString('\n')
		switch {
		case err == io.EOF && completed:
			return nil
		case err != nil:
			return fmt.Errorf("the stream breaks off: %w", err)
		case line == "event: completed\n":
			completed = true
		case completed && strings.HasPrefix(line, "data: "):
			if err := c.answered(a, []byte(line[len("data: "):])); err != nil {
				return err
			}
		}
	}
}

// TestChaos_APIChaos: predictions in every mode, with clients that leave, webhooks and uploads that fail half of the
// time, and workers that are killed. Each has one terminal state, each terminal webhook arrives once, and nothing is
// left.
func TestChaos_APIChaos(t *testing.T) {
	harness.Full(t)
	for model, more := range map[string][]string{"Runner": nil, "Async": {"--concurrency", "8"}} {
		t.Run(model, func(t *testing.T) {
			testChaos(t, harness.Options{
				Model: "api/chaos.py:" + model,
				Args:  append([]string{"--workers", "2", "--queue", "64", "--queue-timeout", "10m"}, more...),
			})
		})
	}
}

func testChaos(t *testing.T, o harness.Options) {
	c := &chaos{
		ends: map[string]map[string]bool{}, delivered: map[string]int{}, tries: map[string]int{},
		random: rand.New(rand.NewPCG(chaosSeed, 1<<32)),
	}
	c.receiver = httptest.NewServer(http.HandlerFunc(c.receive))
	t.Cleanup(c.receiver.Close)
	fresh := harness.Goroutines(t, o, func(s *harness.Server) { s.Succeed(harness.Input{"n": 1}) })

	dirty := harness.Goroutines(t, o, func(s *harness.Server) {
		c.s = s
		s.Succeed(harness.Input{"n": 1})
		s.CloseIdle()
		descriptors, resident := harness.Descriptors(t, s.PID), harness.Resident(t, s.PID)
		for round := range harness.Soak(50, 1) {
			asks := c.asks(round)
			c.run(t, asks, 4)
			c.settle(t, asks)
			if t.Failed() {
				break
			}
		}
		s.CloseIdle()
		c.receiver.CloseClientConnections() // the front may keep those that it will use again
		assert.Eventually(t, "the front has as many files open as before", func() bool {
			return harness.Descriptors(t, s.PID) <= descriptors
		})
		// What it keeps of ended predictions is bounded. A sanitizer keeps memory as it likes.
		if grown := harness.Resident(t, s.PID) - resident; grown > harness.Soak(256, 48)<<20 && !harness.Sanitized(t) {
			t.Errorf("the front grew by %d MiB, want at most %d", grown>>20, harness.Soak(256, 48)<<20)
		}
	})
	for what, n := range dirty {
		// fasthttp's wait 10 s for another connection.
		assert.True(t, n <= fresh[what] || strings.HasPrefix(what, "github.com/valyala/fasthttp.(*workerPool)"),
			"got %d goroutines more than in a fresh server, made by %s, want those of fasthttp's workers alone", n-fresh[what],
			what)
	}
	for i, fault := range c.faults {
		if i == 20 {
			break
		}
		t.Error(fault)
	}
}

// run carries all out at once, some at a time, and kills workers meanwhile.
func (c *chaos) run(t *testing.T, asks []ask, kills int) {
	t.Helper()
	const width = 16
	var mu sync.Mutex
	done := 0
	next := func() (a ask, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if done == len(asks) {
			return a, false
		}
		done++
		return asks[done-1], true
	}
	begun := func() int {
		mu.Lock()
		defer mu.Unlock()
		return done
	}
	var work sync.WaitGroup
	work.Go(func() {
		harness.RunClients(t, width, func(int) error {
			for a, ok := next(); ok; a, ok = next() {
				if err := c.perform(a); err != nil {
					return err
				}
			}
			return nil
		})
	})
	for kill := range kills {
		at := len(asks) * (kill + 1) / (kills + 1)
		assert.Eventually(t, "enough predictions have begun", func() bool { return t.Failed() || begun() >= at })
		for _, worker := range c.s.Health().Workers[kill%2:] {
			if worker.PID != 0 {
				_ = syscall.Kill(worker.PID, syscall.SIGKILL) // it may have been replaced
				break
			}
		}
	}
	work.Wait()
}

// settle waits until all is over, and looks at what became of each.
func (c *chaos) settle(t *testing.T, asks []ask) {
	t.Helper()
	counts := map[string]int{}
	for _, a := range asks {
		var last harness.Answer
		assert.Eventually(t, a.id+" has ended", func() bool {
			last = c.s.Do(http.MethodGet, "/predictions/"+a.id, nil)
			return last.Code == http.StatusNotFound || isFinal(last.Status)
		})
		if last.Code == http.StatusNotFound { // its client left before the server had read its request
			counts["never taken"]++
			if a.leave != 1 {
				c.fault("%s (%s) is not known", a.id, a.mode)
			}
			continue
		}
		c.ended(a.id, last.Status)
		counts[last.Status]++
		if strings.HasPrefix(last.Error, "worker killed") {
			counts["of these lost with a worker"]++
		}
		if a.hooked {
			assert.Eventually(t, "the webhook of "+a.id+" is told", func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.delivered[a.id] > 0
			})
		}
	}
	c.s.WaitHealth("READY")
	left(t, c.s)
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Logf("%v", counts)
	for id, states := range c.ends {
		if len(states) != 1 {
			c.faults = append(c.faults, fmt.Sprintf("%s ended in %v", id, states))
		}
	}
	for id, n := range c.delivered {
		if n != 1 {
			c.faults = append(c.faults, fmt.Sprintf("the webhook of %s took completed in %d times", id, n))
		}
	}
	for _, status := range []string{"succeeded", "failed", "canceled"} {
		if counts[status] == 0 {
			c.faults = append(c.faults, "no prediction is "+status+": the test is none")
		}
	}
}

// unclean is what lies in the predictions' folders of a server.
func unclean(s *harness.Server) []string {
	found, _ := filepath.Glob(filepath.Join(s.Tmp, "pinion-run-*/files/pinion-files-*/*")) // a fixed pattern
	return slices.DeleteFunc(found, func(path string) bool { return filepath.Base(path) == ".lock" })
}
