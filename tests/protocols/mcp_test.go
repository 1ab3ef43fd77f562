package protocols

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// era is how a client of MCP asks: by which revision, and with which capabilities in JSON.
type era struct{ version, capabilities string }

var (
	modern = era{"2026-07-28", `{}`}
	tasks  = era{"2026-07-28", `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`} // takes tasks
	legacy = era{version: "2025-06-18"}
)

// ask sends a request of MCP.
func (e era) ask(s *harness.Server, path, method, params string, headers ...string) harness.Answer {
	headers = append([]string{"Mcp-Protocol-Version", e.version}, headers...)
	if e.capabilities != "" {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + e.capabilities + `}`
		params = strings.TrimSuffix(`{`+meta+`,`+strings.TrimPrefix(params, "{"), ",}")
		if params == `{`+meta {
			params += `}`
		}
		headers = append(headers, "Mcp-Method", method)
		var named struct{ Name, URI, TaskID string }
		_ = json.Unmarshal([]byte(params), &named)
		if name := named.Name + named.URI + named.TaskID; name != "" {
			headers = append(headers, "Mcp-Name", name)
		}
	}
	return s.Do(http.MethodPost, path, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params), headers...)
}

// sendMessage sends a message as it is, with headers "NAME: VALUE".
func sendMessage(s *harness.Server, message string, headers ...string) harness.Answer {
	var pairs []string
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		pairs = append(pairs, name, value)
	}
	return s.Do(http.MethodPost, "/mcp", message, pairs...)
}

// toolResult is the result of a call.
type toolResult struct {
	Content           []map[string]any
	StructuredContent any
	IsError           bool
	ResultType        string
}

// call calls a tool.
func (e era) call(t *testing.T, s *harness.Server, tool, arguments string) toolResult {
	t.Helper()
	answer := e.ask(s, "/mcp", "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
	harness.WantAnswer(t, tool+" "+arguments, answer, 200, `{"jsonrpc":"2.0","id":7,"result":{`)
	var got struct{ Result toolResult }
	harness.Decode(t, answer, &got)
	return got.Result
}

func toolServer(t *testing.T, class string, args ...string) *harness.Server {
	t.Helper()
	return harness.Ready(t, harness.Options{Model: "tools.py:" + class, Args: append([]string{"--model", "m"}, args...)})
}

// TestMCP_Outputs: an output of each kind is content that an agent reads, and structured where the tool has an outputSchema,
// which clients of 2025 take of objects alone.
func TestMCP_Outputs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ class, arguments, content, old, new string }{
		{"Text", `{"text":"é\n","n":2}`, `[{"type":"text","text":"é\né\n"}]`, `null`, `null`},
		{"Words", `{}`, `[{"type":"text","text":"a b c "}]`, `null`, `null`},
		{"Record", `{}`, `[{"type":"text","text":"{\"label\":\"cat\",\"score\":0.5,\"picture\":null}"}]`, `{"label":"cat","score":0.5,"picture":null}`, `{"label":"cat","score":0.5,"picture":null}`},
		{"Picture", `{}`, `[{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}]`, `null`, `null`},
		{"Numbers", `{}`, `[{"type":"text","text":"[0,1,2]"}]`, `null`, `[0,1,2]`},
		{"Items", `{}`, `[{"type":"text","text":"[0,1,2]"}]`, `null`, `[0,1,2]`},
	} {
		t.Run(c.class+c.arguments, func(t *testing.T) {
			t.Parallel()
			s := toolServer(t, c.class)
			for _, e := range []era{modern, legacy} {
				got := e.call(t, s, "m", c.arguments)
				assert.False(t, got.IsError, "%s: got an error: %v", e.version, got.Content)
				content := assert.Must(json.Marshal(got.Content))(t)
				structured := assert.Must(json.Marshal(got.StructuredContent))(t)
				harness.EqualJSON(t, e.version+" content", content, c.content)
				want, kind := c.old, ""
				if e == modern {
					want, kind = c.new, "complete"
				}
				harness.EqualJSON(t, e.version+" structure", structured, want)
				assert.Equal(t, "the result's type", got.ResultType, kind)
			}
		})
	}
}

// TestMCP_Files: small files are in the result by their kind, and large ones are links with the server's address, also in a
// structure. Each has its link, which needs the token that all requests need.
func TestMCP_Files(t *testing.T) {
	t.Parallel()
	anything := modern.call(t, toolServer(t, "Anything"), "m", `{"what":{"a":["data:text/plain;base64,aGk="]}}`)
	assert.Equal(t, "the number of blocks of a file in an object", len(anything.Content), 2)
	assert.Contains(t, "the object", fmt.Sprint(anything.Content[1]["text"]), `/files/0"]}`)

	got := modern.call(t, toolServer(t, "Files"), "m", `{}`)
	text := string(assert.Must(json.Marshal(got.Content))(t))
	for _, want := range []string{
		`{"data":"UklGRg==","mimeType":"audio/wav","type":"audio"}`, `"mimeType":"text/plain","text":"é"`,
		`"blob":"/w==","mimeType":"application/octet-stream"`, `/files/1"`, `/files/2"`,
	} {
		assert.Contains(t, "the content", text, want)
	}

	token := []string{"Authorization", "Bearer secret"}
	tokens := filepath.Join(t.TempDir(), "tokens")
	harness.WriteFile(t, tokens, "secret\n")
	s := toolServer(t, "Record", "--auth-token-file", tokens)
	harness.WantAnswer(t, "no token", legacy.ask(s, "/mcp", "tools/call", `{"name":"m"}`), 401, `{"jsonrpc":"2.0","error":{"code":-32600`)
	answer := legacy.ask(s, "/mcp", "tools/call", `{"name":"m","arguments":{"bytes":1048576}}`, token...)
	var called struct{ Result toolResult }
	harness.Decode(t, answer, &called)
	assert.Equal(t, "the number of blocks", len(called.Result.Content), 2)
	link, _ := called.Result.Content[0]["uri"].(string)
	structure, _ := called.Result.StructuredContent.(map[string]any)
	assert.Equal(t, "the kind of a large file", called.Result.Content[0]["type"], any("resource_link"))
	assert.Equal(t, "the link in the structure", structure["picture"], any(link))
	path, ok := strings.CutPrefix(link, s.Address)
	assert.True(t, ok, "got the link %s, want one of %s", link, s.Address)
	harness.WantCode(t, "the link without a token", s.Do(http.MethodGet, path, nil), 401)
	file := s.Do(http.MethodGet, path, nil, token...)
	assert.Equal(t, "its status, type and size", fmt.Sprintln(file.Code, file.Header.Get("Content-Type"), len(file.Body)), "200 image/png 1048584\n")
	harness.WantCode(t, "another number", s.Do(http.MethodGet, strings.TrimSuffix(path, "0")+"1", nil, token...), 404)
	harness.WantCode(t, "no number", s.Do(http.MethodGet, strings.TrimSuffix(path, "0")+"x", nil, token...), 404)
}

// TestMCP_Failures: what goes wrong in a call is a result that an agent reads: a wrong argument, the model's failure with the
// end of its log, and a server without a free slot, which says when to try again.
func TestMCP_Failures(t *testing.T) {
	t.Parallel()
	s := toolServer(t, "Text")
	for arguments, want := range map[string][]string{
		`{"text":"a","n":-1}`: {"input n: ", "0"},
		`{"text":1}`:          {"input text: "},
		`{}`:                  {"input text: Field required"},
		`{"text":"fail"}`:     {"ValueError: cannot repeat that", "The last lines of the log:\nrepeating fail\n"},
	} {
		for _, e := range []era{modern, legacy} {
			got := e.call(t, s, "m", arguments)
			assert.True(t, got.IsError && len(got.Content) == 1, "%s: got %+v, want one error", arguments, got)
			for _, part := range want {
				assert.Contains(t, arguments, fmt.Sprint(got.Content[0]["text"]), part)
			}
		}
	}
}

// TestMCP_Busy: a server without a free slot says when to try again, so that an agent can.
func TestMCP_Busy(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--model", "m"}})
	open, first := harness.BeginAtGate(t, s, harness.Input{"token": "first"})
	got := modern.call(t, s, "m", `{}`)
	open()
	harness.WantStatus(t, "the first", harness.Receive(t, first), "succeeded")
	text := fmt.Sprint(got.Content)
	assert.True(t, got.IsError && strings.Contains(text, "Try again in 1 s"), "got %+v, want an error with the time to try again", got)
}

// TestMCP_BadMessages: a message that breaks the protocol has its error, and ran nothing.
func TestMCP_BadMessages(t *testing.T) {
	t.Parallel()
	s := toolServer(t, "Text")
	const (
		version = "Mcp-Protocol-Version: 2026-07-28"
		call    = "Mcp-Method: tools/call"
		name    = "Mcp-Name: m"
		meta    = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		body    = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"m","arguments":{"text":"ran"},` + meta + `}}`
	)
	ran := func() float64 { return harness.Scrape(t, s).Value("pinion_predictions_total", "status", "succeeded") }
	before := ran()
	for _, c := range []struct {
		what, body string
		headers    []string
		code       int
		want       string
	}{
		{"not JSON", `{`, nil, 400, `"error":{"code":-32700`},
		{"nothing", ``, nil, 400, `"error":{"code":-32700`},
		{"a batch", `[` + body + `]`, []string{version, call, name}, 400, `"error":{"code":-32600,"message":"batches`},
		{"a text", `"x"`, nil, 400, `"error":{"code":-32600`},
		{"another JSON-RPC", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, nil, 400, `-32600`},
		{"no method", `{"jsonrpc":"2.0","id":1}`, nil, 400, `"id":1,"error":{"code":-32600`},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 400, `-32600`},
		{"id null", strings.Replace(body, `"id":1`, `"id":null`, 1), []string{version, call, name}, 400, `{"jsonrpc":"2.0","error":{"code":-32600`},
		{"id 1.5", strings.Replace(body, `"id":1`, `"id":1.5`, 1), []string{version, call, name}, 400, `-32600`},
		{"id []", strings.Replace(body, `"id":1`, `"id":[]`, 1), []string{version, call, name}, 400, `-32600`},
		{"id of a megabyte", strings.Replace(body, `"id":1`, `"id":"`+strings.Repeat("x", 1<<20)+`"`, 1), []string{version, call, name}, 400, `-32600`},
		{"no id", strings.Replace(body, `"id":1,`, ``, 1), []string{version, call, name}, 400, `-32600`},
		{"no header of the version", body, []string{call, name}, 400, `-32020`},
		{"another header of the version", body, []string{"Mcp-Protocol-Version: 2025-06-18", call, name}, 400, `-32020`},
		{"no header of the method", body, []string{version, name}, 400, `-32020`},
		{"another header of the method", body, []string{version, "Mcp-Method: tools/list", name}, 400, `-32020`},
		{"no header of the name", body, []string{version, call}, 400, `-32020`},
		{"another header of the name", body, []string{version, call, "Mcp-Name: other"}, 400, `-32020`},
		{"another header of the uri", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a",` + meta + `}}`, []string{version, "Mcp-Method: resources/read", "Mcp-Name: b"}, 400, `-32020`},
		{"a header that is not base64", body, []string{version, call, "Mcp-Name: =?base64?!?="}, 400, `-32020`},
		{"no capabilities", strings.Replace(body, `,"io.modelcontextprotocol/clientCapabilities":{}`, ``, 1), []string{version, call, name}, 400, `-32602`},
		{"no _meta", strings.Replace(body, `,`+meta, ``, 1), []string{version, call, name}, 400, `-32602`},
		{"an unknown version", strings.ReplaceAll(body, "2026-07-28", "2031-01-01"), []string{"Mcp-Protocol-Version: 2031-01-01", call, name}, 400, `"data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],"requested":"2031-01-01"}`},
		{"an unknown version of 2025", strings.Replace(body, `,`+meta, ``, 1), []string{"Mcp-Protocol-Version: 2024-11-05"}, 400, `-32022`},
		{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":"tools/x","params":{` + meta + `}}`, []string{version, "Mcp-Method: tools/x"}, 404, `-32601`},
		{"an unknown method of 2025", `{"jsonrpc":"2.0","id":1,"method":"tools/x"}`, nil, 200, `-32601`},
		{"initialize in 2026", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` + meta + `}}`, []string{version, "Mcp-Method: initialize"}, 404, `-32601`},
		{"an unknown tool", strings.ReplaceAll(body, `"m"`, `"n"`), []string{version, call, "Mcp-Name: n"}, 400, `-32602,"message":"unknown tool \"n\": this server has m"`},
		{"an unknown tool of 2025", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n"}}`, nil, 200, `-32602`},
		{"arguments in a list", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"m","arguments":[]}}`, nil, 200, `-32602`},
		{"params in a list", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, nil, 200, `-32602`},
		{"a token in a list", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"m","_meta":{"progressToken":[]}}}`, nil, 200, `-32602`},
	} {
		harness.WantAnswer(t, c.what, sendMessage(s, c.body, c.headers...), c.code, c.want)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		for _, path := range []string{"/mcp", "/models/m/mcp"} {
			answer := s.Do(method, path, nil, "Accept", "text/event-stream")
			harness.WantCode(t, method+" "+path, answer, 405)
			assert.Contains(t, "the methods that "+path+" takes", answer.Header.Get("Allow"), "POST")
		}
	}
	foreign := sendMessage(s, body, version, call, name, "Origin: https://evil.example")
	harness.WantAnswer(t, "a page of another origin", foreign, 403, `-32600`)
	harness.WantAnswer(t, "an unknown model", s.Do(http.MethodPost, "/models/x/mcp", body), 404, `unknown model \"x\"`)
	assert.Equal(t, "the predictions that were made", ran(), before)
	encoded := sendMessage(s, body, version, call, "Mcp-Name: =?base64?bQ==?=")
	harness.WantAnswer(t, "a name in base64", encoded, 200, `"text":"ran"`)
	large := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"m","arguments":{"text":"` + strings.Repeat("x", 20<<20) + `","n":0}}}`
	harness.WantAnswer(t, "20 MB of arguments", s.Do(http.MethodPost, "/mcp", large), 200, `"text":""`)
	small := toolServer(t, "Text", "--max-body", "1000")
	harness.WantAnswer(t, "a body that is too large", small.Do(http.MethodPost, "/mcp", large), 413, `{"jsonrpc":"2.0","error":{"code":-32600`)
}

// TestMCP_Notifications: what a client only tells is accepted.
func TestMCP_Notifications(t *testing.T) {
	t.Parallel()
	s := toolServer(t, "Text")
	answer := sendMessage(s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Protocol-Version: 2025-06-18")
	harness.WantCode(t, "initialized", answer, 202)
	assert.Equal(t, "its body", string(answer.Body), "")
	harness.WantAnswer(t, "ping", legacy.ask(s, "/mcp", "ping", `{}`), 200, `{"jsonrpc":"2.0","id":7,"result":{}}`)
}

// toolModel makes a model's folder with this cog.yaml and README, and returns NAME=DIR.
func toolModel(t *testing.T, name, yaml, readme string) string {
	t.Helper()
	folder := harness.NewFolder(t, "cog.yaml", yaml)
	harness.CopyFile(t, filepath.Join(harness.Models(t), "tools.py"), filepath.Join(folder, "tools.py"))
	if readme != "" {
		harness.WriteFile(t, filepath.Join(folder, "README.md"), readme)
	}
	return name + "=" + folder
}

// TestMCP_Readme: the README of a model is a resource, as its folder has it now.
func TestMCP_Readme(t *testing.T) {
	t.Parallel()
	const yaml = "run: tools.py:Text\n"
	one := toolModel(t, "b.2", yaml, "# Ünit \xff\n")
	s := harness.Start(t, harness.Options{Models: []string{one, toolModel(t, "a", yaml, "")}, Python: harness.AnyPython(t).Path})
	harness.WaitModels(t, s)
	const uri = "pinion://models/b_2/README.md"
	_, folder, _ := strings.Cut(one, "=")
	text := "# Ünit \uFFFD\n"
	for _, e := range []era{modern, legacy} {
		caching, unknown, code := "", -32002, 200
		if e == modern {
			caching, unknown, code = `,"ttlMs":60000,"cacheScope":"public"`, -32602, 400
			harness.WantAnswer(t, "discover", e.ask(s, "/mcp", "server/discover", `{}`), 200, `"resources":{}`)
		} else {
			harness.WantAnswer(t, "initialize", e.ask(s, "/mcp", "initialize", `{}`), 200, `"resources":{}`)
		}
		list := e.ask(s, "/mcp", "resources/list", `{}`)
		harness.WantAnswer(t, "the list", list, 200, `"resources":[{"uri":"`+uri+
			`","name":"b_2/README.md","title":"README of b.2","mimeType":"text/markdown"}]`+caching)
		harness.WantAnswer(t, "the list of another model", e.ask(s, "/models/a/mcp", "resources/list", `{}`), 200, `"resources":[]`)
		read := func(path, uri string) harness.Answer {
			return e.ask(s, path, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
		}
		answer := read("/mcp", uri)
		harness.WantAnswer(t, "the README", answer, 200, `"mimeType":"text/markdown"`)
		harness.WantAnswer(t, "how long it may be kept", answer, 200, "]"+caching)
		var got struct {
			Result struct{ Contents []struct{ URI, Text string } }
		}
		harness.Decode(t, answer, &got)
		assert.Equal(t, "the README", fmt.Sprint(got.Result.Contents), fmt.Sprint([]struct{ URI, Text string }{{uri, text}}))
		for path, uri := range map[string]string{"/models/a/mcp": uri, "/mcp": "pinion://models/a/README.md", "/models/b.2/mcp": "file:///etc/passwd"} {
			harness.WantAnswer(t, uri+" at "+path, read(path, uri), code, fmt.Sprintf(`"error":{"code":%d`, unknown))
		}
		harness.WantAnswer(t, "no uri", e.ask(s, "/mcp", "resources/read", `{}`), code, `"error":{"code":-32602`)
		text = "edited\n"
		harness.WriteFile(t, filepath.Join(folder, "README.md"), text)
	}
}

// TestMCP_Versions: a model with versions is one tool, with the description and the README of its first version.
func TestMCP_Versions(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Python: harness.AnyPython(t).Path, Models: []string{
		toolModel(t, "m@1", "description: Says it.\nrun: tools.py:Text\n", "# One\n"), toolModel(t, "m@2", "run: tools.py:Text\n", "# Two\n"),
	}})
	harness.WaitModels(t, s)
	harness.WantAnswer(t, "the tool", modern.ask(s, "/mcp", "tools/list", `{}`), 200, `"description":"Says it."`)
	answer := modern.ask(s, "/mcp", "resources/read", `{"uri":"pinion://models/m/README.md"}`)
	harness.WantAnswer(t, "the README", answer, 200, `"text":"# One\n"`)
}

// TestMCP_SeveralModels: each model is a tool, in the order of their names; at its own path it is the only one. Two models
// whose tools would have one name are an error at the start.
func TestMCP_SeveralModels(t *testing.T) {
	t.Parallel()
	model := func(name, class string) string {
		return toolModel(t, name, "description: Says "+class+".\nrun: tools.py:"+class+"\n", "")
	}
	one, two := model("b.2", "Numbers"), model("a", "Text")
	s := harness.Start(t, harness.Options{Models: []string{one, two}, Python: harness.AnyPython(t).Path})
	harness.WaitModels(t, s)
	for path, want := range map[string]string{"/mcp": "a b_2", "/models/b.2/mcp": "b_2"} {
		var got struct {
			Result struct {
				Tools []struct {
					Name, Title, Description string
					Annotations              map[string]bool
				}
				TTLMs      int
				CacheScope string
			}
		}
		answer := modern.ask(s, path, "tools/list", `{}`)
		harness.Decode(t, answer, &got)
		var names []string
		for _, tool := range got.Result.Tools {
			names = append(names, tool.Name)
		}
		last := got.Result.Tools[len(names)-1]
		assert.Equal(t, "the tools at "+path, strings.Join(names, " "), want)
		assert.Equal(t, "the last one's title and description", last.Title+": "+last.Description, "b.2: Says Numbers.")
		assert.Equal(t, "the annotations of a model without @tool", len(last.Annotations), 0)
		assert.Equal(t, "how long it may be kept, and its scope", fmt.Sprintln(got.Result.TTLMs, got.Result.CacheScope), "60000 public\n")
	}
	assert.Equal(t, "the text", fmt.Sprint(modern.call(t, s, "a", `{"text":"x"}`).Content[0]["text"]), "x")
	harness.WantRefused(t, harness.Options{Models: []string{one, model("b_2", "Text")}}, 2, `b.2 and b_2 would be one tool b_2`)
}

// TestMCP_PythonClients has the official client for Python ask by both eras, that of its line 1 by the older one, and FastMCP's.
func TestMCP_PythonClients(t *testing.T) {
	t.Parallel()
	model := toolModel(t, "m", "run: tools.py:Text\n", "# Repeat\n")
	s := harness.Ready(t, harness.Options{
		Models: []string{model}, Python: harness.AnyPython(t).Path, Args: []string{"--queue", "10"}, // the clients share a slot
	})
	for _, c := range []string{"protocols", "mcp1"} {
		t.Run(c, func(t *testing.T) {
			t.Parallel()
			python := harness.Tool(t, "venvs/"+c+"/bin/python")
			harness.RunTool(t, t.TempDir(), nil, python, "-B", harness.Absolute(t, "clients/mcp_sdk.py"), s.Address+"/mcp")
		})
	}
}

// events calls a tool with a token for its progress, and returns the messages of the stream.
func (e era) events(t *testing.T, s *harness.Server, arguments string) (messages []string) {
	t.Helper()
	meta := `"progressToken":"p"`
	headers := []string{"Accept: application/json, text/event-stream", "Mcp-Protocol-Version: " + e.version}
	if e == modern {
		meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
		headers = append(headers, "Mcp-Method: tools/call", "Mcp-Name: m")
	}
	answer := sendMessage(s, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"m","arguments":`+arguments+`,"_meta":{`+meta+`}}}`, headers...)
	harness.WantCode(t, arguments, answer, 200)
	assert.Equal(t, "the type", answer.Header.Get("Content-Type"), "text/event-stream")
	for event := range strings.SplitSeq(strings.TrimSpace(string(answer.Body)), "\n\n") {
		data, ok := strings.CutPrefix(event, "event: message\ndata: ")
		assert.True(t, ok, "got the event %q, want a message", event)
		messages = append(messages, data)
	}
	return messages
}

// TestMCP_Progress: what the model yields, or else its progress bar, is told to a client that asks for it, and then the response
// is the last message.
func TestMCP_Progress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ class, arguments, first, last string }{
		{"Items", `{}`, `"progress":1,"message":"0"}}`, `[0,1,2]`},
		{"Words", `{"text":"a\n b"}`, `"progress":1,"message":"a "}}`, `a b `},
		{"Steps", `{}`, `"progress":1,"total":3,"message":"33%|##  | 1/3 [00:01<00:01, 1.00it/s]"}}`, "done"},
		{"Text", `{"text":"fail"}`, "", "cannot repeat that"},
	} {
		t.Run(c.class, func(t *testing.T) {
			t.Parallel()
			s := toolServer(t, c.class)
			for _, e := range []era{modern, legacy} {
				got := e.events(t, s, c.arguments)
				if c.first != "" {
					assert.Equal(t, "the first message", got[0], `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p",`+c.first)
				}
				last := got[len(got)-1]
				var response struct {
					ID     int
					Result toolResult
				}
				harness.FromJSON(t, last, &response)
				assert.Equal(t, "the id of "+last, response.ID, 7)
				assert.Contains(t, "the result", fmt.Sprint(response.Result.Content[0]["text"]), c.last)
			}
		})
	}
}

// TestMCP_Leave: a client that closes its connection cancels the call, with and without a stream.
func TestMCP_Leave(t *testing.T) {
	t.Parallel()
	s := toolServer(t, "Steps")
	for mode, token := range map[string]string{"sync": `{}`, "stream": `{"progressToken":1}`} {
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			s.DoContext(ctx, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"m","arguments":{"n":-1},"_meta":`+token+`}}`,
				"Accept", "application/json, text/event-stream")
		}()
		assert.Eventually(t, "the call runs", func() bool { return harness.Scrape(t, s).Value("pinion_predictions_in_flight") == 1 })
		leave()
		<-left
		assert.Eventually(t, "it is canceled", func() bool {
			return harness.Scrape(t, s).Value("pinion_predictions_total", "mode", mode, "status", "canceled") == 1
		})
	}
}
