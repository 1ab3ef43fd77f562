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
		a := s.Create(map[string]any{"id": "large", "input": input{"text": text}, "webhook": hooks.URL, "webhook_events_filter": []string{"completed"}}, "Prefer", "respond-async")
		if a.Code != http.StatusAccepted {
			t.Fatal(a)
		}
		got := becomes(t, s, "large", "succeeded")
		if got.Text(t) != text {
			t.Errorf("the result has %d bytes: %.200s", len(got.Output), got.Output)
		}
		harness.Eventually(t, "its webhook came", func() bool { return len(hooks.of("large")) == 1 })
		if n := len(hooks.of("large")[0].Output); n != len(text)+2 {
			t.Errorf("the webhook's output has %d bytes", n)
		}
		wantText(t, "pinion jobs show", (cli{}).good(t, "jobs", "show", "large", "--json", "--nats", nats, "--model", "m"), `"output":"`+text+`"`)
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
		got := a.Do(http.MethodPut, "/predictions/"+id, body.Bytes(), "Content-Type", form.FormDataContentType(), "Prefer", "respond-async")
		if got.Code != http.StatusAccepted {
			t.Fatal(got)
		}
		if got := becomes(t, a, id, "succeeded"); strings.Count(string(got.Output), "x") < size {
			t.Errorf("it is %.500s", got.Body)
		}
	}
}

// TestLargeResultsShareTheMemory: many clients read one large result through a gateway with little memory, as an object or by
// waiting for its end. Each gets it, or is told to come again.
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
	var whole atomic.Int64
	reads := func(client int) error {
		for range 3 {
			code, header, body := g.do(http.MethodGet, "/predictions/large", "")
			if code == http.StatusOK && strings.Count(body, "x") >= size {
				whole.Add(1)
			} else if code != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
				return fmt.Errorf("client %d: %d with %d bytes: %.300s", client, code, len(body), body)
			}
			if code, _, body := g.do(http.MethodGet, "/predictions/small", ""); code != http.StatusOK || !strings.Contains(body, `"xxx"`) {
				return fmt.Errorf("a small one: %d %.300s", code, body)
			}
		}
		return nil
	}
	clients(t, 40, reads)
	if whole.Load() == 0 {
		t.Error("no client got it")
	}
	clients(t, 8, func(client int) error {
		code, _, body := g.do(http.MethodPost, "/predictions", fmt.Sprintf(`{"input":{"size":%d}}`, size))
		if code != http.StatusOK || strings.Count(body, "x") < size {
			return fmt.Errorf("client %d that waits: %d with %d bytes: %.300s", client, code, len(body), body)
		}
		return nil
	})
	if code, _, body := g.do(http.MethodGet, "/predictions/large", ""); code != http.StatusOK || strings.Count(body, "x") < size {
		t.Errorf("at last: %d with %d bytes: %.300s", code, len(body), body)
	}
}
