package protocols

import (
	"bufio"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// listener reads what a stream of subscriptions/listen tells.
type listener struct {
	t      *testing.T
	events *bufio.Scanner
	closed func() error
}

// listen opens a stream with the id "é".
func listen(t *testing.T, s *harness.Server, path, notifications string) *listener {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":"é","method":"subscriptions/listen","params":{"notifications":` + notifications +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + tasks.capabilities + `}}}`
	answer := s.Open(t, http.MethodPost, path, body, "Accept", "application/json, text/event-stream",
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	assert.EqualNow(t, "the stream", fmt.Sprintln(answer.StatusCode, answer.Header.Get("Content-Type")), "200 text/event-stream\n")
	return &listener{t, bufio.NewScanner(answer.Body), answer.Body.Close}
}

// next returns the next message, or "" after the last one.
func (l *listener) next() string {
	l.t.Helper()
	for l.events.Scan() {
		if data, ok := strings.CutPrefix(l.events.Text(), "data: "); ok {
			return data
		}
	}
	return ""
}

// TestMCP_Listen: a client that listens is told when the tools have changed, of what it asked for alone, and when the server
// ends.
func TestMCP_Listen(t *testing.T) {
	t.Parallel()
	one, two := toolModel(t, "a", "run: tools.py:Text\n", ""), toolModel(t, "b", "run: tools.py:Steps\n", "")
	s := harness.Start(t, harness.Options{
		Models: []string{one, two}, Python: harness.AnyPython(t).Path, Args: []string{"--reload", "--load", "manual"},
	})
	harness.WantAnswer(t, "discover", modern.ask(s, "/mcp", "server/discover", `{}`), 200, `"tools":{"listChanged":true}`)
	for params, want := range map[string]string{
		`{}`:                               `"error":{"code":-32602`,
		`{"notifications":[]}`:             `"error":{"code":-32602`,
		`{"notifications":{"taskIds":[]}}`: `"error":{"code":-32021`,
	} {
		harness.WantAnswer(t, params, modern.ask(s, "/mcp", "subscriptions/listen", params), 400, want)
	}
	harness.WantAnswer(t, "a client of 2025", legacy.ask(s, "/mcp", "subscriptions/listen", `{}`), 200, `-32601`)

	const (
		meta    = `"_meta":{"io.modelcontextprotocol/subscriptionId":"é"}`
		agreed  = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + meta + `,"notifications":`
		changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{` + meta + `}}`
	)
	all := listen(t, s, "/mcp", `{"toolsListChanged":true,"promptsListChanged":true,"taskIds":["a.x"]}`)
	onlyB := listen(t, s, "/models/b/mcp", `{"toolsListChanged":true}`)
	none := listen(t, s, "/mcp", `{"resourcesListChanged":true}`)
	left := listen(t, s, "/mcp", `{"toolsListChanged":true}`)
	assert.Equal(t, "the first message", all.next(), agreed+`{"toolsListChanged":true}}}`)
	assert.Equal(t, "the first message for b alone", onlyB.next(), agreed+`{"toolsListChanged":true}}}`)
	assert.Equal(t, "the first message for what there is not", none.next(), agreed+`{}}}`)
	left.next()
	assert.NoError(t, left.closed())

	harness.WantCode(t, "load", s.Do(http.MethodPost, "/models/a/load", nil), 200)
	assert.Equal(t, "after the load", all.next(), changed)
	_, folder, _ := strings.Cut(one, "=")
	source := harness.ReadFile(t, filepath.Join(folder, "tools.py"))
	harness.WriteFile(t, filepath.Join(folder, "tools.py"), strings.Replace(source, "Repeats a text", "Says a text again", 1))
	reloaded := s.Do(http.MethodPost, "/models/a/reload", nil)
	assert.True(t, reloaded.Code < 300, "reload: got %s, want it to be taken", reloaded)
	assert.Equal(t, "after the reload", all.next(), changed)
	harness.WantAnswer(t, "the list", modern.ask(s, "/mcp", "tools/list", `{}`), 200, "Says a text again")
	harness.WantCode(t, "load of b", s.Do(http.MethodPost, "/models/b/load", nil), 200)
	assert.Equal(t, "after the load of b", all.next(), changed)
	assert.Equal(t, "for b alone", onlyB.next(), changed)

	s.Signal(syscall.SIGTERM)
	for _, l := range []*listener{all, onlyB, none} {
		assert.Equal(t, "the last message", l.next(), `{"jsonrpc":"2.0","id":"é","result":{"resultType":"complete",`+meta+`}}`)
		assert.Equal(t, "after the last message", l.next(), "")
	}
	s.Ended(0)
}
