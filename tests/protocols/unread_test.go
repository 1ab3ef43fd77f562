package protocols

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestUnread_AnswersAreCharged: the front stays within twice its memory budget and 128 MiB, as docs/explanation/memory.md
// promises, while many clients do not read large answers, on every route: bytes are charged until they are sent.
func TestUnread_AnswersAreCharged(t *testing.T) {
	if harness.Sanitized(t) {
		t.Skip("the binary uses memory as it pleases")
	}
	t.Parallel()
	const (
		budget   = 64 << 20
		most     = 2*budget + 128<<20
		size     = 6 << 20
		inFlight = 8
	)
	dir, models := bufferModels(t, "Text", "Words", "Chat", "Tokens", "Completions", "Rerank")
	harness.WriteFile(t, filepath.Join(dir, "cog_examples", "large"), strings.Repeat("x", 15<<20))
	s := harness.Start(t, harness.Options{
		Models: models, Dir: dir, Python: harness.AnyPython(t).Path, Env: []string{"AIP_PREDICT_ROUTE=/vertex"},
		Args: []string{"--queue", "100", "--memory-budget", "64MiB", "--mcp-task-after", "0"},
	})
	harness.WaitModels(t, s)
	doors := map[string]bufferDoor{
		"a file of the page": func(c *bufferClient) (io.ReadCloser, error) {
			return c.send(http.MethodGet, "/models/text/docs/examples/large", "")
		},
		"a list of files": func(c *bufferClient) (io.ReadCloser, error) { return c.send(http.MethodGet, "/v1/files", "") },
	}
	for _, name := range []string{
		"native", "native, MessagePack", "native, compressed", "native, events", "chat", "chat, tokens", "chat, events of a whole",
		"completions", "messages", "messages, events", "responses", "responses, events", "rerank", "KServe", "Vertex",
		"invocations, the output alone", "OIP", "OIP, binary", "OIP, generate", "Replicate, new",
		"MCP", "MCP, events", "MCP, task",
	} {
		doors[name] = bufferDoors[name]
		assert.True(t, doors[name] != nil, "%s: there is no such route, want one of bufferDoors", name)
	}
	fillList(t, s)
	doors["readers of one stream"] = nil
	for name, door := range doors {
		t.Run(name, func(t *testing.T) {
			least := int32(1)
			if door == nil {
				door, least = oneStream(t, s, size), 90 // they share what the prediction holds
			}
			err := os.WriteFile(fmt.Sprint("/proc/", s.PID, "/clear_refs"), []byte("5"), 0o200) // its peak begins anew
			assert.NoError(t, err)
			clients := 90
			if name == "rerank" { // its bodies are large, and wait for room
				clients = 12
			}
			client := lateReader()
			var answered atomic.Int32
			var held sync.Map
			harness.RunClients(t, inFlight, func(k int) error {
				for i := k; i < clients; i += inFlight {
					c := bufferClientOf(client, s, i, size)
					answer, err := door(c)
					if err != nil {
						return err
					}
					held.Store(i, answer)
					if c.status < http.StatusMultipleChoices {
						answered.Add(1)
					}
				}
				return nil
			})
			if peak := harness.PeakResident(t, s.PID); peak > most {
				t.Errorf("the front took %d MiB for %d answers that are not read, want at most %d", peak>>20, clients, most>>20)
			}
			assert.True(t, answered.Load() >= least, "%d clients got an answer, want at least %d", answered.Load(), least)
			held.Range(func(_, answer any) bool { return answer.(io.Closer).Close() == nil })
			client.CloseIdleConnections()
			assert.Eventually(t, "the answers' memory is free",
				func() bool { return s.Health().Memory.UsedBytes < budget/2 })
		})
	}
}

// fillList uploads files whose list is long.
func fillList(t *testing.T, s *harness.Server) {
	const form = "--b\r\nContent-Disposition: form-data; name=\"content\"; filename=\"a\"\r\n\r\nx\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"metadata\"\r\n\r\n{\"k\":\"%s\"}\r\n--b--\r\n"
	for range 400 {
		a := s.Do(http.MethodPost, "/v1/files", fmt.Sprintf(form, strings.Repeat("v", 15_000)), "Content-Type",
			"multipart/form-data; boundary=b")
		assert.EqualNow(t, "status of an upload", a.Code, http.StatusCreated)
	}
}

// oneStream returns a route that answers with the stream of one prediction, which has ended.
func oneStream(t *testing.T, s *harness.Server, size int) bufferDoor {
	var link string
	first := linked("/v1/models/acme/words/predictions", `{"input":{"text":"%s"}}`, func(answer map[string]any) string {
		link = strings.TrimPrefix(linkTo("stream")(answer), s.Address)
		return link
	})
	c := bufferClientOf(http.DefaultClient, s, 0, size)
	answer := assert.Must(first(c))(t)
	body := assert.Must(io.ReadAll(answer))(t)
	assert.NoError(t, c.check(body))
	return func(c *bufferClient) (io.ReadCloser, error) { return c.send(http.MethodGet, link, "") }
}

// TestUnread_BodiesWaitForEachOther: requests of which copies are made ask for all that they need at once. Four that
// hold their bodies and wait for more would all be refused but one.
func TestUnread_BodiesWaitForEachOther(t *testing.T) {
	t.Parallel()
	_, models := bufferModels(t, "Chat")
	s := harness.Start(t, harness.Options{
		Models: models, Python: harness.AnyPython(t).Path, Args: []string{"--queue", "100", "--memory-budget", "64MiB"},
	})
	harness.WaitModels(t, s)
	text := strings.Repeat("x", 7<<20)
	for path, body := range map[string]string{
		"/v1/messages":  `{"model":"chat","max_tokens":9,"system":"` + text + `","messages":[{"role":"user","content":"abc:9"}]}`,
		"/v1/responses": `{"model":"chat","instructions":"` + text + `","input":"abc:9"}`,
	} {
		harness.RunClients(t, 4, func(int) error {
			if a := s.Do(http.MethodPost, path, body); a.Code != http.StatusOK || !strings.Contains(string(a.Body), "abcabcabc") {
				return fmt.Errorf("%s: %d %.300s", path, a.Code, a.Body)
			}
			return nil
		})
	}
}

// TestUnread_OutputsWithoutRoom: a prediction whose own output finds no room in the budget is refused in each protocol,
// with when to ask again. Natively it has failed, as with Cog.
func TestUnread_OutputsWithoutRoom(t *testing.T) {
	t.Parallel()
	const size = 80 << 20
	dir, models := bufferModels(t, "Text", "Words", "Chat", "Tokens", "Completions")
	s := harness.Start(t, harness.Options{
		Models: models, Dir: dir, Python: harness.AnyPython(t).Path, Env: []string{"AIP_PREDICT_ROUTE=/vertex"},
		Args: []string{"--memory-budget", "64MiB", "--grpc-port", "0"},
	})
	harness.WaitModels(t, s)
	for _, name := range []string{
		"chat", "chat, tokens", "chat, events", "completions", "messages", "messages, events", "responses", "responses, events",
		"KServe", "Vertex", "invocations, the output alone", "invocations, instances", "OIP", "OIP, binary", "OIP, generate",
		"OIP, events",
	} {
		c := bufferClientOf(http.DefaultClient, s, 0, size)
		answer := assert.Must(bufferDoors[name](c))(t)
		body := assert.Must(io.ReadAll(answer))(t)
		answer.Close()
		assert.True(t, c.status == http.StatusServiceUnavailable && c.header.Get("Retry-After") != "" &&
			strings.Contains(string(body), "--memory-budget"), "%s: %d %v %.300s, want 503 with Retry-After", name, c.status, c.header,
			body)
	}
	_, err := bufferDoors["OIP, gRPC"](bufferClientOf(http.DefaultClient, s, 0, size))
	assert.Equal(t, "code by gRPC", status.Code(err), codes.Unavailable)
	native := s.Do(http.MethodPost, "/predictions", fmt.Sprintf(`{"input":{"text":"x:%d"}}`, size))
	assert.Contains(t, "natively", string(native.Body), `"status":"failed"`, "--memory-budget")
}
