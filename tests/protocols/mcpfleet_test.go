package protocols

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// knowsTool waits until a server lists the tool "m".
func knowsTool(t *testing.T, s *harness.Server) {
	t.Helper()
	assert.Eventually(t, "the tool is known", func() bool {
		return strings.Contains(string(tasks.ask(s, "/mcp", "tools/list", `{}`).Body), `"name":"m"`)
	})
}

// TestMCP_TaskOutlivesServer: with --nats a task goes on when its server is killed, and the gateway and each other server
// answer for it.
func TestMCP_TaskOutlivesServer(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	options := harness.Options{Model: "tools.py:Gate"}
	first := harness.StartMember(t, nats.URL, options)
	gateway := harness.StartGateway(t, nats.URL)
	knowsTool(t, gateway.Server)
	harness.MakeFIFO(t, first.Dir, "gate")
	began := begin(t, first, `{"gate":"gate"}`)
	first.WaitLog("painting")
	for _, s := range []*harness.Server{first, gateway.Server} {
		waitTask(t, s, began.TaskID, "working")
	}
	waiting := begin(t, gateway.Server, `{}`) // the slot is taken
	waitTask(t, first, waiting.TaskID, "working")
	canceled := begin(t, gateway.Server, `{}`)
	harness.WantAnswer(t, "cancel at the server", tasks.askTask(first, "/mcp", "tasks/cancel", canceled.TaskID), 200, `"resultType":"complete"`)
	waitTask(t, gateway.Server, canceled.TaskID, "cancelled")
	harness.WantAnswer(t, "an unknown task", tasks.askTask(gateway.Server, "/mcp", "tasks/get", "m.x"), 400, `"error":{"code":-32602`)
	first.Kill()
	options.Dir = first.Dir
	second := harness.StartMember(t, nats.URL, options)
	assert.Eventually(t, "another server has completed the task", func() bool {
		harness.OpenFIFO(filepath.Join(first.Dir, "gate"))
		return taskOf(t, tasks.askTask(gateway.Server, "/mcp", "tasks/get", began.TaskID)).Status == "completed"
	})
	for _, id := range []string{began.TaskID, waiting.TaskID} {
		for _, s := range []*harness.Server{second, gateway.Server} {
			got := waitTask(t, s, id, "completed")
			assert.Equal(t, "the content", fmt.Sprint(got.Result.Content), "[map[data:iVBORw0KGgo= mimeType:image/png type:image]]")
			assert.Equal(t, "when it was created", got.CreatedAt.After(began.CreatedAt), id == waiting.TaskID)
		}
	}
	failed := waitTask(t, second, begin(t, second, `{"fail":true}`).TaskID, "completed")
	text := fmt.Sprint(failed.Result.Content)
	assert.True(t, failed.Result.IsError && strings.Contains(text, "cannot paint that"), "got %+v, want the error", failed)
	nats.Kill()
	var away harness.Answer
	assert.Eventually(t, "the gateway notices that NATS is away", func() bool {
		away = tasks.askTask(gateway.Server, "/mcp", "tasks/get", began.TaskID)
		return away.Code == http.StatusServiceUnavailable
	})
	harness.WantAnswer(t, "without NATS", away, 503, `{"jsonrpc":"2.0","id":7,"error":{"code":-32603`)
	assert.True(t, away.Header.Get("Retry-After") != "", "got %v, want a time to try again", away.Header)
	nats.Start()
	assert.Eventually(t, "the task is there again", func() bool {
		return tasks.askTask(gateway.Server, "/mcp", "tasks/get", began.TaskID).Code == http.StatusOK
	})
}

// TestMCP_Gateway: a gateway has its servers' models as tools, with their files and progress, also for clients that take no
// tasks.
func TestMCP_Gateway(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	harness.StartMember(t, nats.URL, harness.Options{Model: "tools.py:Record"})
	gateway := harness.StartGateway(t, nats.URL)
	s := gateway.Server
	knowsTool(t, s)
	for _, e := range []era{modern, legacy, tasks} {
		assert.Equal(t, "the structure", fmt.Sprint(e.call(t, s, "m", `{}`).StructuredContent), "map[label:cat picture:<nil> score:0.5]")
		wrong := e.call(t, s, "m", `{"label":1}`)
		assert.True(t, wrong.IsError && strings.Contains(fmt.Sprint(wrong.Content), "label"), "got %+v, want what is wrong", wrong)
		got := e.call(t, s, "m", `{"bytes":1048576}`)
		link, _ := got.Content[0]["uri"].(string)
		path, ok := strings.CutPrefix(link, s.Address)
		assert.TrueNow(t, ok, "got %+v, want a link to the gateway", got.Content[0])
		file := s.Do(http.MethodGet, path, nil)
		assert.Equal(t, "the file", fmt.Sprintln(file.Code, file.Header.Get("Content-Type"), len(file.Body)), "200 image/png 1048584\n")
	}
	harness.WantAnswer(t, "resources", modern.ask(s, "/mcp", "resources/list", `{}`), 404, `-32601`)
	events := modern.events(t, s, `{}`)
	assert.Contains(t, "the last event", events[len(events)-1], `"label":"cat"`)
}
