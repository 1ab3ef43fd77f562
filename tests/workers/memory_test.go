package workers

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestMemory_WhatEndedDoesNotFillMemory: far more streams, errors, logs, metrics and inputs pass through a front than
// the 64 MiB that it may have.
func TestMemory_WhatEndedDoesNotFillMemory(t *testing.T) {
	t.Parallel()
	const group, width = 256, 8
	each := harness.Soak(300, 120)
	s, before := harness.StartConfined(t, "run.py:Runner", group, "--queue", "100")
	if _, limit, _ := harness.MemoryBudget(t, s); limit != group/4<<20 {
		t.Errorf("the budget is %d, want a quarter of %d MiB", limit, group)
	}
	var most atomic.Int64
	harness.RunClients(t, width, func(client int) error {
		for i := range each {
			in, accept, want := harness.Input{"n": 300, "size": 400}, "text/event-stream", "succeeded"
			switch i % 6 {
			case 1:
				in, accept, want = harness.Input{"error": 100_000}, "application/json", "failed"
			case 2:
				in["error"], want = 10, "failed"
			case 3:
				in = harness.Input{"log": 100_000, "metric": 30_000}
			case 4:
				in = harness.Input{"text": strings.Repeat("t", 120_000)}
			}
			body := map[string]any{"input": in, "id": fmt.Sprintf("p%d-%d", client, i)}
			a := s.Create(body, "Accept", accept)
			if a.Code != http.StatusOK || !bytes.Contains(a.Body, []byte(`"status":"`+want+`"`)) {
				return fmt.Errorf("%v: %.300s", in, a.String())
			}
			if i%50 == 0 {
				most.Store(max(most.Load(), int64(harness.Resident(t, s.PID))))
			}
		}
		return nil
	})
	used, limit, evictions := harness.MemoryBudget(t, s)
	assert.True(t, used <= limit && used <= limit/4+1<<20 && evictions != 0,
		"%d of %d bytes are used after %d evictions, want at most %d and at most %d and not 0", used, limit, evictions, limit,
		limit/4+1<<20)
	assert.True(t, most.Load() <= group/2<<20,
		"the front had %d MiB: got %d, want at most %d", most.Load()>>20, most.Load(), group/2<<20)
	// those of the clients end in any order, and evict each other
	s.Create(map[string]any{"id": "last", "input": harness.Input{}})
	harness.WantCode(t, "the last of them is not kept", s.Do("GET", "/predictions/last", nil), http.StatusOK)
	metrics := string(s.Do("GET", "/metrics", nil).Body)
	assert.Contains(t, "the metrics", metrics, fmt.Sprintf("pinion_memory_budget_bytes %g", float64(limit)),
		"pinion_memory_used_bytes ", "pinion_memory_evictions_total ")
	assert.False(t, strings.Contains(metrics, "pinion_memory_evictions_total 0\n"),
		"the metrics do not count evictions: got %.300q, want no %q in it", metrics, "pinion_memory_evictions_total 0\n")
	harness.WaitResident(t, s, before)
}

// TestMemory_BodiesShareMemory: many large requests at once do not fill it, in any format. Each is answered,
// and so are small ones meanwhile.
func TestMemory_BodiesShareMemory(t *testing.T) {
	t.Parallel()
	s, before := harness.StartConfined(t, "run.py:returned", 256, "--queue", "100", "--queue-timeout", "5m")
	const many = 12
	large := func(size int, headers ...string) func(int) error {
		body := []byte(`{"input":{"text":"` + strings.Repeat("t", size) + `"}}`)
		return func(int) error {
			a := s.Create(io.MultiReader(bytes.NewReader(body)), headers...) // chunked: its length is not known
			if len(headers) == 0 {
				a = s.Create(body)
			}
			switch {
			case a.Code == http.StatusOK && a.Status == "succeeded":
			case a.Code == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != "" &&
				a.Header.Get("Pinion-Retry") == "elsewhere":
			default:
				return fmt.Errorf("%d bytes: %.300s", size, a.String())
			}
			return nil
		}
	}
	stop := make(chan struct{})
	small := make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				small <- n
				return
			default:
			}
			assert.Equal(t, "a small one meanwhile", s.Input(harness.Input{"text": "small"}).Code, http.StatusOK)
			n++
			time.Sleep(10 * time.Millisecond) // the large ones need the machine too
		}
	}()
	harness.RunClients(t, many, large(15<<20))
	harness.RunClients(t, many, large(60_000_000))
	harness.RunClients(t, many, large(15<<20, "Pinion-Test", "chunked"))
	harness.RunClients(t, many, large(60_000_000, "Pinion-Test", "chunked"))
	close(stop)
	n := <-small
	assert.True(t, n != 0, "no small request was answered meanwhile: got %d, want anything but 0", n)
	assert.Eventually(t, "nothing is left in use",
		func() bool { used, _, _ := harness.MemoryBudget(t, s); return used < 9<<20 })
	harness.WaitResident(t, s, before)
}

// TestMemory_LongMembersShareMemory: what a request has beside its input is refused or ignored where it is long, and
// not copied before.
func TestMemory_LongMembersShareMemory(t *testing.T) {
	t.Parallel()
	s, before := harness.StartConfined(t, "run.py:returned", 256, "--queue", "100")
	long := strings.Repeat("x", 45_000_000)
	numbers := make([]string, 4_000_000)
	for i := range numbers {
		numbers[i] = fmt.Sprintf(`"%x":0`, i)
	}
	for member, code := range map[string]int{
		`"created_at":"` + long + `"`:                    http.StatusOK,
		`"id":"` + long + `"`:                            http.StatusUnprocessableEntity,
		`"webhook":"http://x/` + long + `"`:              http.StatusUnprocessableEntity,
		`"context":{` + strings.Join(numbers, ",") + `}`: http.StatusUnprocessableEntity,
		`"\u0061` + long + `":1`:                         http.StatusOK,
	} {
		body := []byte("{" + member + "}")
		harness.RunClients(t, 6, func(int) error {
			if a := s.Create(body); a.Code != code {
				return fmt.Errorf("%.20s: %.300s", member, a.String())
			}
			return nil
		})
	}
	// {"input": {"text": …}}, whose characters are six bytes each in JSON
	pack := slices.Concat([]byte("\x81\xa5input\x81\xa4text\xdb"), binary.BigEndian.AppendUint32(nil, 45_000_000),
		bytes.Repeat([]byte{1}, 45_000_000))
	harness.RunClients(t, 6, func(int) error {
		a := s.Create(pack, "Content-Type", "application/msgpack")
		full := a.Code == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != ""
		if !full && a.Code != http.StatusRequestEntityTooLarge { // the JSON is larger than a body may be
			return fmt.Errorf("a text that grows in JSON: %.300s", a.String())
		}
		return nil
	})
	s.Succeed(harness.Input{})
	harness.WaitResident(t, s, before)
}

// TestMemory_BodiesBeyondMemoryGoToDisk: six bodies at once, of which none fits into the budget, are predictions like
// others. Nothing of them is left on disk.
func TestMemory_BodiesBeyondMemoryGoToDisk(t *testing.T) {
	t.Parallel()
	s, before := harness.StartConfined(t, "run.py:returned", 200, "--queue", "100")
	text := []byte(strings.Repeat("t", 60_000_000))
	harness.RunClients(t, 6, func(client int) error {
		body := slices.Concat([]byte(`{"input":{"unknown":1,"text":"`), text, []byte(`"}}`)) // the front must rewrite it
		a := s.Create(io.MultiReader(bytes.NewReader(body)))                                 // chunked
		if client%2 == 0 {
			a = s.Create(body)
		}
		if a.Code != http.StatusOK || a.Status != "succeeded" {
			return fmt.Errorf("client %d: %.300s", client, a.String())
		}
		return nil
	})
	refused := slices.Concat([]byte(`{"input":{"size":"no number","text":"`), text, []byte(`"}}`))
	assert.Equal(t, "input that is not valid", s.Create(refused).Code, http.StatusUnprocessableEntity)
	cut := io.MultiReader(bytes.NewReader(refused[:50<<20]), iotest.ErrReader(errors.New("left")))
	a := s.Create(cut)
	assert.True(t, a.Err != nil, "a client that leaves: %.300s", a.String())
	assert.Eventually(t, "the files are gone", func() bool { return !strings.Contains(harness.Maps(t, s.PID), s.Tmp) })
	harness.WaitResident(t, s, before)
}

// TestMemory_OnePredictionThatDoesNotFit ends with an error that says so, and leaves the others alone.
func TestMemory_OnePredictionThatDoesNotFit(t *testing.T) {
	t.Parallel()
	s, before := harness.StartConfined(t, "run.py:Runner", 256, "--memory-budget", "16MiB")
	for i, headers := range [][]string{nil, {"Accept", "text/event-stream"}, {"Prefer", "respond-async"}} {
		id := fmt.Sprint("big", i)
		a := s.Create(map[string]any{"id": id, "input": harness.Input{"n": 1000, "size": 100_000}}, headers...)
		assert.True(t, a.Code == http.StatusOK || a.Code == http.StatusAccepted,
			"%s: %.300s: got %d, want 200 or 202", id, a.String(), a.Code)
		assert.Eventually(t, "it has failed", func() bool {
			a = s.Do("GET", "/predictions/"+id, nil)
			return a.Status == "failed"
		})
		assert.Contains(t, "error", a.Error, "16 MiB", "--memory-budget")
		assert.Equal(t, "one after it", string(s.Succeed(harness.Input{"n": 3}).Output), `["x","x","x"]`)
	}
	assert.Contains(t, "the metrics", string(s.Do("GET", "/metrics", nil).Body), `reason="memory"`)
	harness.WaitResident(t, s, before)
}

// TestMemory_WebhooksThatWaitDoNotFillMemory: what a receiver does not take is dropped where it is too much, and the
// server serves on.
func TestMemory_WebhooksThatWaitDoNotFillMemory(t *testing.T) {
	t.Parallel()
	var accepts atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !accepts.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(receiver.Close)
	defer accepts.Store(true) // the server waits for the last of them before it ends
	s, _ := harness.StartConfined(t, "run.py:Runner", 256)
	for i := range harness.Soak(300, 150) { // of 1 MB each
		a := s.Create(map[string]any{"input": harness.Input{"n": 10, "size": 100_000}, "webhook": receiver.URL})
		assert.TrueNow(t, a.Status == "succeeded", "prediction %d: %.300s: got %q, want succeeded", i, a.String(), a.Status)
	}
	used, limit, _ := harness.MemoryBudget(t, s)
	assert.True(t, used <= limit*3/4, "%d of %d bytes are used, want at most %d", used, limit, limit*3/4)
}

// TestMemory_ClaimedBodiesShareMemory: a server with free places for all of the queue's large bodies runs them as it
// has memory for them, and loses none.
func TestMemory_ClaimedBodiesShareMemory(t *testing.T) {
	t.Parallel()
	enter := harness.NeedMemoryGroup(t, 400<<20)
	const source = "import asyncio\n\n\nasync def run(text: str) -> int:\n    await asyncio.sleep(0.5)\n    return len(text)\n"
	s := harness.Ready(t, harness.Options{
		Dir:  harness.NewFolder(t, "run.py", source, "cog.yaml", "run: run.py:run\nconcurrency: {max: 16}\n"),
		Wrap: enter, Args: []string{"--model", "m", "--nats", "embed:" + t.TempDir(), "--queue-timeout", "5m"},
	})
	const size, jobs = 40_000_000, 8
	body := []byte(`{"input":{"text":"` + strings.Repeat("t", size) + `"}}`)
	harness.RunClients(t, jobs, func(client int) error {
		for {
			a := s.Do(http.MethodPut, fmt.Sprintf("/predictions/p%d", client), body, "Prefer", "respond-async", "Content-Type",
				"application/json")
			if a.Code == http.StatusAccepted {
				return nil
			}
			if a.Code != http.StatusServiceUnavailable {
				return fmt.Errorf("client %d: %.300s", client, a.String())
			}
			time.Sleep(200 * time.Millisecond) // less than Retry-After asks for, but the refused do not take the machine
		}
	})
	// The limit of memory leaves little of the machine to them: it is asked seldom, and for long.
	assert.TrueNow(t, assert.Within(3*assert.Timeout, 300*time.Millisecond, func() bool {
		want := fmt.Sprintf("pinion_predictions_total{mode=\"async\",reason=\"\",status=\"succeeded\"} %d\n", jobs)
		return strings.Contains(string(s.Do(http.MethodGet, "/metrics", nil).Body), want)
	}), "not all jobs have succeeded")
	assert.Equal(t, "p0", string(harness.WaitStatus(t, s, "p0", "succeeded").Output), strconv.Itoa(size))
}

// TestMemory_QueuedBodiesShareMemory: what waits in the embedded job queue is on disk, and what is on its way there is
// bounded.
func TestMemory_QueuedBodiesShareMemory(t *testing.T) {
	t.Parallel()
	s, _ := harness.StartConfined(t, "run.py:returned", 400, "--model", "m", "--nats", "embed:"+t.TempDir(), "--queue",
		"10",
		"--queue-timeout", "5m")
	body := []byte(`{"input":{"text":"` + strings.Repeat("t", 60_000_000) + `"}}`)
	harness.RunClients(t, 16, func(int) error {
		a := s.Create(body, "Prefer", "respond-async")
		if a.Code != http.StatusAccepted && (a.Code != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "") {
			return fmt.Errorf("a large body: %.300s", a.String())
		}
		return nil
	})
	s.Succeed(harness.Input{"text": "small"})
}
