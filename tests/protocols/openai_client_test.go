package protocols

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestOpenaiClient_OpenAIsClient has OpenAI's own client ask a model for each endpoint: tools, streams, usage,
// embeddings, audio, images, errors, and the asynchronous client, which leaves a stream.
func TestOpenaiClient_OpenAIsClient(t *testing.T) {
	t.Parallel()
	tool := harness.Tool(t, "venvs/protocols/bin/python")
	client := harness.Absolute(t, "clients/openai_sdk.py")
	for _, class := range []string{
		"Chat", "Completer", "Tokens", "Embedder", "TokenEmbedder", "Transcriber", "Dictation",
		"Painter", "Speaker", "Recording",
	} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{
				Model: "generative.py:" + class, Args: []string{"--model", "m", "--queue", "8"},
			})
			harness.RunTool(t, t.TempDir(), nil, tool, "-B", client, s.Address, class)
			if class == "Chat" {
				checkGenerationMetrics(t, s)
			}
		})
	}
}

// TestOpenaiClient_OpenAIsClientComesAgain has OpenAI's client ask a server without a free slot, which the client does
// again.
func TestOpenaiClient_OpenAIsClientComesAgain(t *testing.T) {
	t.Parallel()
	tool := harness.Tool(t, "venvs/protocols/bin/python")
	client := harness.Absolute(t, "clients/openai_sdk.py")
	s := harness.Ready(t, harness.Options{Model: "generative.py:Chat", Args: []string{"--model", "m"}})
	harness.RunTool(t, t.TempDir(), nil, tool, "-B", client, s.Address, "Busy")
}

// TestOpenaiClient_LiteLLM has LiteLLM ask as its users do: to them the server is one of OpenAI's API.
func TestOpenaiClient_LiteLLM(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	for _, class := range []string{"Chat", "Embedder"} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "generative.py:" + class, Args: []string{"--model", "m"}})
			askAsFull(t, "clients/litellm_sdk.py", s.Address, class)
		})
	}
}

// TestOpenaiClient_LangChain has LangChain ask by chat and by Responses: streams, tools and embeddings.
func TestOpenaiClient_LangChain(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	for _, class := range []string{"Agent", "Embedder"} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "generative.py:" + class, Args: []string{"--model", "m"}})
			askAsFull(t, "clients/langchain_sdk.py", s.Address, class)
		})
	}
}

// TestOpenaiClient_LlamaIndex has LlamaIndex ask as a server like OpenAI's: streams, tools, completions and embeddings.
func TestOpenaiClient_LlamaIndex(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	for _, class := range []string{"Agent", "Completer", "Embedder"} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "generative.py:" + class, Args: []string{"--model", "m"}})
			askAsFull(t, "clients/llamaindex_sdk.py", s.Address, class)
		})
	}
}

// TestOpenaiClient_AISDK has the AI SDK for JavaScript ask by its providers of OpenAI and of servers like it.
func TestOpenaiClient_AISDK(t *testing.T) {
	t.Parallel()
	modules := harness.Tool(t, "clients/node_modules")
	for _, class := range []string{
		"Agent", "Chat", "Completer", "Embedder", "Painter", "Recording", "Speaking", "Transcriber", "Dictation",
	} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "generative.py:" + class, Args: []string{"--model", "m"}})
			dir := t.TempDir()
			harness.WriteFile(t, filepath.Join(dir, "client.mjs"), assert.Must(os.ReadFile("clients/ai_sdk.mjs"))(t))
			assert.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
			harness.RunTool(t, dir, nil, "node", "client.mjs", s.Address, class)
		})
	}
}

// TestOpenaiClient_KServesClient has KServe's client ask by both versions of its protocol.
func TestOpenaiClient_KServesClient(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	askAsFull(t, "clients/kserve_sdk.py", platform(t, "Adder").Address)
}

// askAsFull runs a client in the environment of those that bring many packages.
func askAsFull(t *testing.T, client string, arguments ...string) {
	t.Helper()
	python := harness.Tool(t, "venvs/protocols-full/bin/python")
	env := []string{"LITELLM_LOCAL_MODEL_COST_MAP=True"} // else it asks the internet
	harness.RunTool(t, t.TempDir(), env, python, append([]string{"-B", harness.Absolute(t, client)}, arguments...)...)
}

// checkGenerationMetrics looks for OpenTelemetry's GenAI metrics of a model that was asked.
func checkGenerationMetrics(t *testing.T, s *harness.Server) {
	t.Helper()
	var page []string
	for line := range strings.Lines(string(s.Do(http.MethodGet, "/metrics", nil).Body)) {
		if strings.HasPrefix(line, "gen_ai_") && strings.Contains(line, "_count") {
			page = append(page, line)
		}
	}
	const labels = `{gen_ai_operation_name="chat",gen_ai_provider_name="pinion",gen_ai_request_model="m"`
	for _, want := range []string{
		"gen_ai_server_time_to_first_token_seconds_count" + labels + "} ",
		"gen_ai_server_time_per_output_token_seconds_count" + labels + "} ",
		"gen_ai_server_request_duration_seconds_count" + labels + "} ",
		"gen_ai_server_request_duration_seconds_count" + labels + `,error_type="500"} 5`,
	} {
		if !slices.ContainsFunc(page, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("/metrics lacks %s, want it there\n%s", want, strings.Join(page, ""))
		}
	}
}

// TestOpenaiClient_AnthropicClient has Anthropic's client ask a chat function: text, tools, streams, errors, tokens,
// and a stream that is left.
func TestOpenaiClient_AnthropicClient(t *testing.T) {
	t.Parallel()
	const token = "a-token-0123456789"
	tool := harness.Tool(t, "venvs/protocols/bin/python")
	s := harness.Ready(t, harness.Options{
		Model: "generative.py:Chat",
		Args:  []string{"--model", "m", "--queue", "8", "--auth-token-file", harness.TokenFile(t, token)},
	})
	harness.RunTool(t, t.TempDir(), nil, tool, "-B", harness.Absolute(t, "clients/anthropic_sdk.py"), s.Address, token)
}
