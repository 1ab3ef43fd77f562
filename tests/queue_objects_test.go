package tests

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"pinion/tests/harness"
)

// TestALargeJob: its body and its result are larger than a message of NATS may be.
func TestALargeJob(t *testing.T) {
	t.Parallel()
	for _, nats := range []string{harness.StartNATS(t).URL, "embed:" + t.TempDir()} {
		s := member(t, nats, harness.Options{Model: "echo.py:text"})
		hooks := newHookReceiver(t)
		text := strings.Repeat("0123456789abcdef", 3<<16) // 3 MiB
		a := s.Create(map[string]any{
			"id": "large", "input": input{"text": text}, "webhook": hooks.URL,
			"webhook_events_filter": []string{"completed"},
		}, "Prefer", "respond-async")
		if a.Code != http.StatusAccepted {
			t.Fatal(a)
		}
		got := becomes(t, s, "large", "succeeded")
		same(t, "the result", got.Text(t), text)
		harness.Eventually(t, "its webhook came", func() bool { return len(hooks.of("large")) == 1 })
		same(t, "bytes of the webhook's output", len(hooks.of("large")[0].Output), len(text)+2)
		wantText(t, "pinion jobs show", (cli{}).good(t, "jobs", "show", "large", "--json", "--nats", nats, "--model", "m"),
			`"output":"`+text+`"`)
		enqueue(t, s, "small", input{"text": "small"})
		becomes(t, s, "small", "succeeded")
	}
}

// TestAFormInTheQueue: the body is stored as it came, files and all.
func TestAFormInTheQueue(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{Model: "filing.py"})
	for _, size := range []int{10, 2 << 20} {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part, err := form.CreateFormFile("file", "note.txt")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(part, strings.Repeat("x", size))
		form.Close()
		id := fmt.Sprint("form", size)
		got := a.Do(http.MethodPut, "/predictions/"+id, body.Bytes(), "Content-Type", form.FormDataContentType(), "Prefer",
			"respond-async")
		if got.Code != http.StatusAccepted {
			t.Fatal(got)
		}
		if got := becomes(t, a, id, "succeeded"); strings.Count(string(got.Output), "x") < size {
			t.Errorf("it is %.500s", got.Body)
		}
	}
}

// TestLargeResultsShareTheMemory: many clients read one large result through a gateway with little memory, as an object
// or by waiting for its end. Each gets it, or is told to come again.
func TestLargeResultsShareTheMemory(t *testing.T) {
	t.Parallel()
	enter := memoryGroup(t, 256<<20)
	nats := harness.StartNATS(t).URL
	s := member(t, nats, harness.Options{Dir: folder(t, "run.py", hoarder), Model: "run.py:returned"})
	g := startGatewayIn(t, enter, nats)
	const size = 25_000_000
	enqueue(t, s, "large", input{"size": size})
	enqueue(t, s, "small", input{"size": 3})
	becomes(t, s, "large", "succeeded")
	becomes(t, s, "small", "succeeded")
	has := func(a harness.Answer) bool {
		return a.Code == http.StatusOK && bytes.Count(a.Body, []byte("x")) >= size
	}
	var whole atomic.Int64
	reads := func(client int) error {
		for range 3 {
			a := stateOf(g.Server, "large")
			if has(a) {
				whole.Add(1)
			} else if a.Code != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
				return fmt.Errorf("client %d: %d bytes: %.300s", client, len(a.Body), a.String())
			}
			if a := stateOf(g.Server, "small"); a.Code != http.StatusOK || string(a.Output) != `"xxx"` {
				return fmt.Errorf("a small one: %.300s", a.String())
			}
		}
		return nil
	}
	clients(t, 40, reads)
	if whole.Load() == 0 {
		t.Error("no client got it")
	}
	clients(t, 8, func(client int) error {
		if a := g.Input(input{"size": size}); !has(a) {
			return fmt.Errorf("client %d that waits: %d bytes: %.300s", client, len(a.Body), a.String())
		}
		return nil
	})
	if a := stateOf(g.Server, "large"); !has(a) {
		t.Errorf("at last: %d bytes: %.300s", len(a.Body), a.String())
	}
}
