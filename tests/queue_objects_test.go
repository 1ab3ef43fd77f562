package tests

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
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
		if shown := (cli{}).good(t, "jobs", "show", "large", "--json", "--nats", nats, "--model", "m"); !strings.Contains(shown, `"output":"`+text+`"`) {
			t.Errorf("pinion jobs show: %.600s", shown)
		}
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
