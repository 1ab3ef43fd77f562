package protocols

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func agentServer(t *testing.T, args ...string) *harness.Server {
	t.Helper()
	return harness.Ready(t, harness.Options{
		Model: "generative.py:Agent", Args: append([]string{"--model", "m", "--queue", "8"}, args...),
	})
}

// TestAgents_Requests sends what clients of today send, and what only the function, or only a vendor's servers, could do.
// The answer says what was ignored and what was left out.
func TestAgents_Requests(t *testing.T) {
	t.Parallel()
	s := agentServer(t, "--openai-strict")
	const (
		messages = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]`
		input    = `{"model":"m","input":"hi"`
		own      = `{"name":"Read","input_schema":{"type":"object"}}`
		function = `{"type":"function","name":"shell","parameters":{"type":"object"}}`
		ignored  = "ignored parameters, which the model's function does not take: "
		vendors  = ", which only a vendor's servers run"
	)
	for _, c := range []struct {
		path, body string
		code       int
		want, warn string // in the answer, and in the warnings
	}{
		{
			"/v1/messages", messages + `,"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"thinking":{"type":"adaptive"},"metadata":{"user_id":"u"}}`,
			200, `"text":"hi"`, ignored + "context_management, thinking",
		},
		{"/v1/messages", messages + `,"speed":"standard","diagnostics":{},"workspace_id":"w","fallbacks":"default"}`, 200, `"text":"hi"`, ignored + "speed, diagnostics, workspace_id, fallbacks"},
		{"/v1/messages", messages + `,"tools":[` + own + `,{"type":"web_search_20260318","name":"web_search"}],"mcp_servers":[{}]}`, 200, `"text":"hi"`, "left out: the tool web_search_20260318" + vendors + ", mcp_servers"},
		{"/v1/messages", messages + `,"tools":[{"type":"web_search_20260318","name":"w"}],"tool_choice":{"type":"any"}}`, 400, "none of the tools was handed on", ""},
		{"/v1/messages", messages + `,"tools":[` + own + `,{"type":"web_search_20260318","name":"w"}],"tool_choice":{"type":"tool","name":"w"}}`, 400, "no tool 'w' was handed on", ""},
		{"/v1/messages", messages + `,"thread":{"type":"create"}}`, 400, `"details":{"error_code":"thread_unsupported_request","unsupported":["thread"]}}`, ""},
		{"/v1/messages", messages + `,"compaction":{"type":"x"}}`, 400, "makes no summary", ""},
		{"/v1/messages", messages + `,"unknown":1}`, 400, "Unknown parameter: 'unknown'", ""},
		{"/v1/responses", input + `,"client_metadata":{"a":"b"},"image":{},"background_options":{},"access_programs":{},"truncation":"auto"}`, 200, `"text":"hi"`, ignored + "client_metadata, image, background_options, access_programs, truncation"},
		{"/v1/responses", input + `,"tools":[` + function + `,{"type":"image_generation"}]}`, 200, `"text":"hi"`, "left out: the tool image_generation" + vendors},
		{"/v1/responses", input + `,"previous_response_id":"r"}`, 400, "stores no responses", ""},
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}],"session_id":"s"}`, 400, "Unknown parameter: 'session_id'", ""},
		{"/v1/chat/completions/", `{"messages":[{"role":"user","content":"hi"}]}`, 200, `"content":"hi"`, `which has one: "m"`},
		{"/v1/messages", strings.Replace(messages, `"m"`, `"dummy"`, 1) + `}`, 200, `"text":"hi"`, `which has one: "m"`},
		{"/v1/messages", strings.Replace(messages, `"m"`, `"gummy"`, 1) + `}`, 404, "unknown model", ""},
		{"/v1/messages/count_tokens", `{"model":"m","system":"one two","messages":[{"role":"user","content":"three four five"}],"tools":[` + own + `]}`, 200, `{"input_tokens":6}`, ""},
	} {
		answer := s.Do(http.MethodPost, c.path, c.body)
		harness.WantAnswer(t, c.path+" "+c.body, answer, c.code, c.want)
		if got := strings.Join(answer.Header.Values("Pinion-Warning"), "; "); !strings.Contains(got, c.warn) || c.warn == "" && got != "" {
			t.Errorf("%s %s: got the warnings %q, want %q", c.path, c.body, got, c.warn)
		}
	}
}

// TestAgents_CountIsAnEstimate: without a method that counts, the count is an estimate, and says so.
func TestAgents_CountIsAnEstimate(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "generative.py:Chat", Args: []string{"--model", "m"}})
	answer := s.Do(http.MethodPost, "/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"`+strings.Repeat("a", 4000)+`"}]}`)
	harness.WantAnswer(t, "the count", answer, 200, `{"input_tokens":1006}`)
	warning := answer.Header.Get("Pinion-Warning")
	assert.True(t, strings.Contains(warning, "estimate"), "got the warning %q, want that it is an estimate", warning)
	harness.WantAnswer(t, "no messages", s.Do(http.MethodPost, "/v1/messages/count_tokens", `{"model":"m"}`), 400, "messages")
}

// TestAgents_History: what the model thought in earlier turns reaches it at each door.
func TestAgents_History(t *testing.T) {
	t.Parallel()
	s := agentServer(t)
	for path, body := range map[string]string{
		"/v1/messages": `"max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"plan A","signature":""},{"type":"tool_use","id":"1","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"ok"},{"type":"text","text":"recall"}]}]`,
		"/v1/responses": `"input":[{"type":"reasoning","id":"r","summary":[],"content":[{"type":"reasoning_text","text":"plan A"}]},` +
			`{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"ok"},{"role":"user","content":"recall"}]`,
		"/v1/chat/completions": `"messages":[{"role":"assistant","content":"x","reasoning_content":"plan A"},{"role":"user","content":"recall"}]`,
	} {
		harness.WantAnswer(t, path, s.Do(http.MethodPost, path, `{"model":"m",`+body+`}`), 200, `"plan A"`)
	}
}

// TestAgents_Reasoning: a whole chat answer has all that the model thought, as a stream has.
func TestAgents_Reasoning(t *testing.T) {
	t.Parallel()
	answer := postOpenAI(agentServer(t), `{"model":"m","messages":[{"role":"user","content":"think"}]}`)
	harness.WantAnswer(t, "the answer", answer, 200, `"reasoning_content":"let me see"`)
}

// TestAgents_Codex sends a request of the shape of Codex's, and its next one with the result of a tool that it runs.
func TestAgents_Codex(t *testing.T) {
	t.Parallel()
	s := agentServer(t)
	const tools = `"tools":[{"type":"function","name":"exec_command","strict":false,"parameters":{"type":"object","properties":{"cmd":{"type":"string"}}}},` +
		`{"type":"custom","name":"apply_patch","description":"edits files","format":{"type":"grammar","syntax":"lark","definition":"start: /.+/"}},` +
		`{"type":"namespace","name":"docs","description":"d","tools":[{"type":"function","name":"find","parameters":{"type":"object"}}]},` +
		`{"type":"tool_search","execution":"client","description":"d","parameters":{"type":"object"}},` +
		`{"type":"web_search","external_web_access":false},{"type":"image_generation","output_format":"png"},{"type":"local_shell"}],` +
		`"tool_choice":"auto","parallel_tool_calls":false,"reasoning":{"effort":"medium","summary":"auto"},"store":false,"stream":true,` +
		`"include":["reasoning.encrypted_content"],"prompt_cache_key":"k","client_metadata":{"session_id":"s"}}`
	message := func(text string) string {
		return `{"type":"message","role":"user","content":[{"type":"input_text","text":"` + text + `"}]}`
	}
	begin := `{"model":"m","instructions":"You are an agent.","input":[` + message("<environment_context>") + ","
	for call, want := range map[string]string{
		`exec_command {\"cmd\":\"ls\"}`:         `"type":"function_call","call_id":"call_1","name":"exec_command","arguments":"{\"cmd\":\"ls\"}"`,
		`apply_patch {\"input\":\"*** Begin\"}`: `"type":"custom_tool_call","call_id":"call_1","name":"apply_patch","input":"*** Begin"`,
		`docs__find {}`:                         `"type":"function_call","call_id":"call_1","name":"find","namespace":"docs","arguments":"{}"`,
		`local_shell {\"command\":[\"ls\"]}`:    `"type":"local_shell_call","call_id":"call_1","action":{"type":"exec","command":["ls"]}`,
		`tool_search {\"query\":\"mail\"}`:      `"type":"tool_search_call","call_id":"call_1","execution":"client","arguments":{"query":"mail"}`,
	} {
		answer := s.Do(http.MethodPost, "/v1/responses", begin+message("call "+call)+"],"+tools)
		harness.WantAnswer(t, call, answer, 200, `"output_index":0,"item":{"id":"fc_`+answer.Header.Get("X-Request-Id")+`_0",`+want+`,"status":"completed"}`)
		harness.WantAnswer(t, call, answer, 200, "event: response.completed")
		result := `,{"type":"function_call_output","call_id":"call_1","output":"done"}`
		switch {
		case strings.HasPrefix(call, "apply_patch"):
			result = `,{"type":"custom_tool_call_output","call_id":"call_1","output":"done"}`
		case strings.HasPrefix(call, "tool_search"):
			result = `,{"type":"tool_search_output","call_id":"call_1","tools":[{"type":"function","name":"mail","parameters":{"type":"object"}}]}`
		}
		answer = s.Do(http.MethodPost, "/v1/responses", begin+message("call it")+`,{"id":"i",`+want+`}`+result+"],"+tools)
		harness.WantAnswer(t, "the result of "+call, answer, 200, "event: response.completed")
		if strings.HasPrefix(call, "tool_search") {
			harness.WantAnswer(t, "the tools that were found", answer, 200, `mail`)
		} else {
			harness.WantAnswer(t, "the result of "+call, answer, 200, `"text":"the tool said: done"`)
		}
	}
}

// TestAgents_ClaudeAgentSDK has the Agent SDK, with the agent that it brings, read a file by its own tool.
func TestAgents_ClaudeAgentSDK(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	askAsFull(t, "clients/agent_sdk.py", agentServer(t).Address)
}

// TestAgents_LiteLLM has LiteLLM ask at its doors for self-hosted servers.
func TestAgents_LiteLLM(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	for _, class := range []string{"Agent", "Ranker", "Dictation", "Speaking"} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "generative.py:" + class, Args: []string{"--model", "m"}})
			askAsFull(t, "clients/litellm_sdk.py", s.Address, class)
		})
	}
}

// TestAgents_JavaScript has Anthropic's client for JavaScript run tools.
func TestAgents_JavaScript(t *testing.T) {
	t.Parallel()
	modules := harness.Tool(t, "clients/node_modules")
	dir := t.TempDir()
	text := assert.Must(os.ReadFile("clients/tool_runner.mjs"))(t)
	harness.WriteFile(t, filepath.Join(dir, "client.mjs"), text)
	assert.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
	harness.RunTool(t, dir, nil, "node", "client.mjs", agentServer(t).Address)
}

// TestFormats_OfTheModel: a format that the model makes anyway is served, and another is refused.
func TestFormats_OfTheModel(t *testing.T) {
	t.Parallel()
	for class, c := range map[string]struct{ path, body, param, served, refused string }{
		"Speaking":  {"/v1/audio/speech", `{"model":"m","input":"a"`, "response_format", "wav mp3", "flac"},
		"Recording": {"/v1/audio/speech", `{"model":"m","input":"a"`, "response_format", "mp3", "wav"},
		"Painter":   {"/v1/images/generations", `{"model":"m","prompt":"a"`, "output_format", "png", "jpeg"},
	} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "generative.py:" + class, Args: []string{"--model", "m"}})
			for _, format := range strings.Fields(c.served) {
				harness.WantCode(t, format, s.Do(http.MethodPost, c.path, c.body+`,"`+c.param+`":"`+format+`"}`), 200)
			}
			harness.WantAnswer(t, c.refused, s.Do(http.MethodPost, c.path, c.body+`,"`+c.param+`":"`+c.refused+`"}`), 400, "'"+c.param+"'")
		})
	}
}

// TestAgents_Paths asks at paths that clients make of base URLs, and at those of the model's that another route matches.
func TestAgents_Paths(t *testing.T) {
	t.Parallel()
	s := rankServer(t, "Ranker")
	const rank = `{"model":"m","query":"a","documents":["b","aa"]}`
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{http.MethodPost, "/rerank", rank, 200, `"results":[{"index":1,`},
		{http.MethodPost, "/rerank/", rank, 200, `"results":[{"index":1,`},
		{http.MethodPost, "/rerank", `{}`, 400, `"message":"Missing required parameter: 'query'."`},
		{http.MethodGet, "/v1/models/", "", 200, `"id":"m"`},
		{http.MethodGet, "/v1/models/m:predict", "", 405, "does not take GET"},
		{http.MethodGet, "/v1/models/n:predict", "", 404, "unknown model"},
		{http.MethodGet, "/v2/models/stats", "", 404, "no extension of statistics"},
	} {
		harness.WantAnswer(t, c.method+" "+c.path, s.Do(c.method, c.path, []byte(c.body)), c.code, c.want)
	}
}

// TestChat_PictureForTexts: a picture for a function of texts is the client's mistake.
func TestChat_PictureForTexts(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "generative.py:Chat", Args: []string{"--model", "m"}})
	answer := postOpenAI(s, `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]}`)
	harness.WantAnswer(t, "a picture", answer, 400, "'messages[0].content'")
}
