package protocols

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// task is a task as a server tells it.
type task struct {
	ResultType, TaskID, Status, StatusMessage string
	CreatedAt, LastUpdatedAt                  time.Time
	TTLMs, PollIntervalMs                     int
	Result                                    toolResult
}

// begin calls the tool "m", and returns the task that answers.
func begin(t *testing.T, s *harness.Server, arguments string) task {
	t.Helper()
	got := taskOf(t, tasks.ask(s, "/mcp", "tools/call", `{"name":"m","arguments":`+arguments+`}`))
	known := got.TaskID != "" && got.Status == "working" && got.ResultType == "task" && got.PollIntervalMs >= 500
	assert.TrueNow(t, known, "got %+v, want a task", got)
	return got
}

func taskOf(t *testing.T, answer harness.Answer) task {
	t.Helper()
	harness.WantAnswer(t, "a task", answer, 200, `{"jsonrpc":"2.0","id":7,"result":{`)
	var got struct{ Result task }
	harness.Decode(t, answer, &got)
	return got.Result
}

// askTask asks a method of a task.
func (e era) askTask(s *harness.Server, path, method, id string) harness.Answer {
	return e.ask(s, path, method, fmt.Sprintf(`{"taskId":%q}`, id))
}

// waitTask waits until a server reports a status of a task.
func waitTask(t *testing.T, s *harness.Server, id, status string) (got task) {
	t.Helper()
	assert.Eventually(t, "the task is "+status, func() bool {
		got = taskOf(t, tasks.askTask(s, "/mcp", "tasks/get", id))
		return got.Status == status
	})
	return got
}

// TestMCP_Task: a call that takes longer than --mcp-task-after is a task, of which its client alone gets the state and the
// result, also that of a failure. Clients that take no tasks wait.
func TestMCP_Task(t *testing.T) {
	t.Parallel()
	s := toolServer(t, "Gate", "--mcp-task-after", "1h", "--queue", "10") // @tool(task=True) wants no wait
	harness.WantAnswer(t, "discover", modern.ask(s, "/mcp", "server/discover", `{}`), 200, `"extensions":{"io.modelcontextprotocol/tasks":{}}`)
	initialized := legacy.ask(s, "/mcp", "initialize", `{}`)
	assert.False(t, strings.Contains(string(initialized.Body), "tasks"), "got %s, want no tasks for clients of 2025", initialized)

	open := harness.MakeFIFO(t, s.Dir, "gate")
	began := begin(t, s, `{"gate":"gate"}`)
	assert.Equal(t, "how long it is kept", began.TTLMs/1000, 600)
	assert.False(t, began.LastUpdatedAt.Before(began.CreatedAt), "it changed at %v, before it was made at %v", began.LastUpdatedAt, began.CreatedAt)
	name, secret, _ := strings.Cut(began.TaskID, ".")
	assert.True(t, name == "m" && len(secret) == 26, "got the task %s, want m. and 128 random bits", began.TaskID)
	var working task
	assert.Eventually(t, "the task tells how far it is", func() bool {
		working = waitTask(t, s, began.TaskID, "working")
		return working.StatusMessage != ""
	})
	assert.Equal(t, "how far it is", working.StatusMessage, "50%|##  | 1/2 [00:01<00:01, 1.00it/s]")
	assert.Equal(t, "when it was created", working.CreatedAt, began.CreatedAt)

	line, _ := s.Log.Find("painting")
	prediction := line.PredictionID
	harness.WantAnswer(t, "the prediction", s.Do(http.MethodGet, "/predictions/"+prediction, nil), 200, `"status":"processing"`)
	for _, id := range []string{prediction, "m." + prediction, "m.AAAAAAAAAAAAAAAAAAAAAAAAAA", "x." + secret, secret, "", "m." + strings.ToLower(secret)} {
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			harness.WantAnswer(t, method+" "+id, tasks.askTask(s, "/mcp", method, id), 400, `"error":{"code":-32602,"message":"`)
		}
	}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		harness.WantAnswer(t, method+" of a client that takes no tasks", modern.askTask(s, "/mcp", method, began.TaskID), 400,
			`"id":7,"error":{"code":-32021,"message":"the request must declare the capability io.modelcontextprotocol/tasks",`+
				`"data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}`)
		harness.WantAnswer(t, method+" of 2025", legacy.askTask(s, "/mcp", method, began.TaskID), 200, `"error":{"code":-32601`)
	}
	harness.WantAnswer(t, "tasks/result", tasks.askTask(s, "/mcp", "tasks/result", began.TaskID), 404, `-32601`)
	harness.WantAnswer(t, "no id", tasks.ask(s, "/mcp", "tasks/get", `{}`), 400, `-32602,"message":"taskId must be a string"`)
	other := sendMessage(s, `{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"taskId":"`+began.TaskID+`","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+tasks.capabilities+`}}}`,
		"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tasks/get", "Mcp-Name: m.other")
	harness.WantAnswer(t, "another task in the header", other, 400, `-32020`)

	updated := taskOf(t, tasks.ask(s, "/mcp", "tasks/update", fmt.Sprintf(`{"taskId":%q,"inputResponses":{"a":{"action":"cancel"}}}`, began.TaskID)))
	assert.Equal(t, "the answer of an update", fmt.Sprint(updated), fmt.Sprint(task{ResultType: "complete"}))
	waitTask(t, s, began.TaskID, "working")
	open()
	ended := waitTask(t, s, began.TaskID, "completed")
	assert.True(t, ended.LastUpdatedAt.After(ended.CreatedAt) && ended.TTLMs > 600_000, "got %+v, want when it ended", ended)
	assert.Equal(t, "the result", fmt.Sprint(ended.Result), fmt.Sprint(toolResult{
		Content: []map[string]any{{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}}, ResultType: "complete",
	}))
	assert.Equal(t, "the task at the model's own path", waitTask(t, s, began.TaskID, "completed").TaskID, began.TaskID)
	harness.WantAnswer(t, "a cancel after the end", tasks.askTask(s, "/models/m/mcp", "tasks/cancel", began.TaskID), 200, `"resultType":"complete"`)
	waitTask(t, s, began.TaskID, "completed")

	failed := waitTask(t, s, begin(t, s, `{"fail":true}`).TaskID, "completed")
	text := fmt.Sprint(failed.Result.Content)
	assert.True(t, failed.Result.IsError && strings.Contains(text, "cannot paint that") && strings.Contains(text, "50%"), "got %+v, want the error and the log", failed)
	wrong := tasks.call(t, s, "m", `{"fail":1}`)
	assert.True(t, wrong.IsError && wrong.ResultType == "complete", "a wrong argument: got %+v, want a result at once", wrong)
	assert.Equal(t, "the result for a client that takes no tasks", len(modern.call(t, s, "m", `{}`).Content), 1)
}

// TestMCP_TaskAfter: a call that ends in time is no task. One whose client leaves before that is canceled, and so is a task.
func TestMCP_TaskAfter(t *testing.T) {
	t.Parallel()
	s := toolServer(t, "Steps", "--mcp-task-after", "1h")
	assert.Equal(t, "the result", fmt.Sprint(tasks.call(t, s, "m", `{}`).Content), "[map[text:done type:text]]")
	canceled := func() float64 {
		return harness.Scrape(t, s).Value("pinion_predictions_total", "mode", "async", "status", "canceled")
	}
	ctx, leave := context.WithCancel(t.Context())
	var left sync.WaitGroup
	left.Go(func() {
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`
		s.DoContext(ctx, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"m","arguments":{"n":-1},`+meta+tasks.capabilities+`}}}`,
			"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "m")
	})
	assert.Eventually(t, "the call runs", func() bool { return harness.Scrape(t, s).Value("pinion_predictions_in_flight") == 1 })
	leave()
	left.Wait()
	assert.Eventually(t, "it is canceled", func() bool { return canceled() == 1 })

	soon := toolServer(t, "Steps", "--mcp-task-after", "0")
	began := begin(t, soon, `{"n":-1}`)
	waitTask(t, soon, began.TaskID, "working")
	harness.WantAnswer(t, "cancel", tasks.askTask(soon, "/mcp", "tasks/cancel", began.TaskID), 200, `"resultType":"complete"`)
	ended := waitTask(t, soon, began.TaskID, "cancelled")
	assert.Equal(t, "the result of a task that was canceled", len(ended.Result.Content), 0)

	none := toolServer(t, "Steps", "--mcp-task-after", "0", "--result-ttl", "0")
	discovered := modern.ask(none, "/mcp", "server/discover", `{}`)
	assert.False(t, strings.Contains(string(discovered.Body), "tasks"), "got %s, want no tasks where no results are kept", discovered)
	assert.Equal(t, "the kind of result", tasks.call(t, none, "m", `{}`).ResultType, "complete")
}

// TestMCP_ManyTasks: thousands of tasks are each their client's: it gets its own result, and the id of another one's
// prediction leads to none.
func TestMCP_ManyTasks(t *testing.T) {
	t.Parallel()
	const clients = 32
	count := 1_000
	if harness.IsFull() {
		count = 10_000
	}
	s := toolServer(t, "Text", "--mcp-task-after", "0", "--queue", fmt.Sprint(count))
	ids := make([]string, count)
	harness.RunClients(t, clients, func(client int) error {
		for i := client; i < count; i += clients {
			answer := tasks.ask(s, "/mcp", "tools/call", fmt.Sprintf(`{"name":"m","arguments":{"text":"of %d."}}`, i))
			ids[i] = taskOf(t, answer).TaskID
		}
		return nil
	})
	got := map[string]int{}
	for i, id := range ids {
		if id == "" { // it had ended at once
			continue
		}
		_, other := got[id]
		assert.False(t, other, "two calls have the task %s, want one each", id)
		got[id] = i
	}
	assert.True(t, len(got) > count/2, "got %d tasks of %d calls, want most to be one", len(got), count)
	harness.RunClients(t, clients, func(client int) error {
		for i := client; i < count; i += clients {
			if ids[i] == "" {
				continue
			}
			ended := waitTask(t, s, ids[i], "completed")
			if text := fmt.Sprint(ended.Result.Content); text != fmt.Sprintf("[map[text:of %d. type:text]]", i) {
				return fmt.Errorf("task %d: got %s, want its own text", i, text)
			}
		}
		return nil
	})
	for _, line := range s.Log.Lines()[:count/10] {
		if line.PredictionID != "" {
			answer := tasks.askTask(s, "/mcp", "tasks/get", "m."+line.PredictionID)
			harness.WantAnswer(t, "a prediction's id", answer, 400, `-32602`)
		}
	}
}
