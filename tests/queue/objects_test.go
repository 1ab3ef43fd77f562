package queue

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestObjects_LargeJob: its body and its result are larger than a message of NATS may be.
func TestObjects_LargeJob(t *testing.T) {
	t.Parallel()
	for _, nats := range []string{harness.StartNATS(t).URL, "embed:" + t.TempDir()} {
		s := harness.StartMember(t, nats, harness.Options{Model: "echo.py:text"})
		hooks := harness.NewHookReceiver(t)
		text := strings.Repeat("0123456789abcdef", 3<<16) // 3 MiB
		a := s.Create(map[string]any{
			"id": "large", "input": harness.Input{"text": text}, "webhook": hooks.URL,
			"webhook_events_filter": []string{"completed"},
		}, "Prefer", "respond-async")
		assert.EqualNow(t, fmt.Sprintf("%v", a), a.Code, http.StatusAccepted)
		got := harness.WaitStatus(t, s, "large", "succeeded")
		assert.Equal(t, "the result", got.Text(t), text)
		assert.Eventually(t, "its webhook came", func() bool { return len(hooks.Of("large")) == 1 })
		assert.Equal(t, "bytes of the webhook's output", len(hooks.Of("large")[0].Output), len(text)+2)
		assert.Contains(t, "pinion jobs show",
			(harness.CLI{}).Good(t, "jobs", "show", "large", "--json", "--nats", nats, "--model", "m"),
			`"output":"`+text+`"`)
		harness.Enqueue(t, s, "small", harness.Input{"text": "small"})
		harness.WaitStatus(t, s, "small", "succeeded")
	}
}

// TestObjects_FormInQueue: the body is stored as it came, files and all.
func TestObjects_FormInQueue(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := harness.StartMember(t, nats.URL, harness.Options{Model: "filing.py"})
	for _, size := range []int{10, 2 << 20} {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part := assert.Must(form.CreateFormFile("file", "note.txt"))(t)
		fmt.Fprint(part, strings.Repeat("x", size))
		form.Close()
		id := fmt.Sprint("form", size)
		got := a.Do(http.MethodPut, "/predictions/"+id, body.Bytes(), "Content-Type", form.FormDataContentType(), "Prefer",
			"respond-async")
		assert.EqualNow(t, fmt.Sprintf("%v", got), got.Code, http.StatusAccepted)
		if got := harness.WaitStatus(t, a, id, "succeeded"); strings.Count(string(got.Output), "x") < size {
			t.Errorf("it is %.500s: got %d, want at least %d", got.Body, strings.Count(string(got.Output), "x"), size)
		}
	}
}

// TestObjects_LargeResultsShareMemory: many clients read one large result through a gateway with little memory, as an
// object or by waiting for its end. Each gets it, or is told to come again.
func TestObjects_LargeResultsShareMemory(t *testing.T) {
	t.Parallel()
	enter := harness.NeedMemoryGroup(t, 256<<20)
	nats := harness.StartNATS(t).URL
	s := harness.StartMember(t, nats,
		harness.Options{Dir: harness.NewFolder(t, "run.py", harness.HoarderModel), Model: "run.py:returned"})
	g := harness.StartGatewayIn(t, enter, nats)
	const size = 25_000_000
	harness.Enqueue(t, s, "large", harness.Input{"size": size})
	harness.Enqueue(t, s, "small", harness.Input{"size": 3})
	harness.WaitStatus(t, s, "large", "succeeded")
	harness.WaitStatus(t, s, "small", "succeeded")
	has := func(a harness.Answer) bool {
		return a.Code == http.StatusOK && bytes.Count(a.Body, []byte("x")) >= size
	}
	var whole atomic.Int64
	reads := func(client int) error {
		for range 3 {
			a := harness.StateOf(g.Server, "large")
			if has(a) {
				whole.Add(1)
			} else if a.Code != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
				return fmt.Errorf("client %d: %d bytes: %.300s", client, len(a.Body), a.String())
			}
			if a := harness.StateOf(g.Server, "small"); a.Code != http.StatusOK || string(a.Output) != `"xxx"` {
				return fmt.Errorf("a small one: %.300s", a.String())
			}
		}
		return nil
	}
	harness.RunClients(t, 40, reads)
	assert.True(t, whole.Load() != 0, "no client got it, %d, want anything but 0", whole.Load())
	harness.RunClients(t, 8, func(client int) error {
		if a := g.Input(harness.Input{"size": size}); !has(a) {
			return fmt.Errorf("client %d that waits: %d bytes: %.300s", client, len(a.Body), a.String())
		}
		return nil
	})
	a := harness.StateOf(g.Server, "large")
	assert.True(t, has(a), "at last: %d bytes: %.300s", len(a.Body), a.String())
}
