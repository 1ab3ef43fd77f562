package responses

import (
	"pinion/httpd/openai"
	"pinion/runtime/rawjson"
)

const (
	storesNothing = "this server stores no responses"
	encrypted     = "only OpenAI's servers can read it: send the items that it stands for"
)

// fields is what happens to the parameters. One that is not here is handed on: the function may take it.
var fields = []openai.Field[*dialog]{
	{Name: "input", Read: func(d *dialog, value []byte) *openai.Error { d.input = value; return nil }},
	{Name: "instructions", Read: (*dialog).readInstructions},
	{Name: "max_output_tokens", As: "max_completion_tokens"},
	{Name: "tools", Read: func(d *dialog, value []byte) *openai.Error { return d.AddTools("tools", value) }},
	{Name: "tool_choice", Read: (*dialog).readToolChoice},
	{Name: "text", Read: (*dialog).readText},
	{Name: "reasoning", Read: (*dialog).readReasoning},
	{Name: "include", Read: (*dialog).readInclude},
	{Name: "stream_options", Read: (*dialog).readStreamOptions},

	{Name: "access_programs", Label: true},
	{Name: "background_options", Label: true},
	{Name: "client_metadata", Label: true},
	{Name: "context_management", Label: true},
	{Name: "image", Label: true},
	{Name: "max_tool_calls", Label: true}, // of tools that are left out
	{Name: "truncation", Label: true},

	{Name: "previous_response_id", Lacks: storesNothing},
	{Name: "conversation", Lacks: storesNothing},
	{Name: "prompt", Lacks: storesNothing},
	{Name: "background", Lacks: storesNothing, Neutral: "false"},

	{Name: "messages", Foreign: true},
	{Name: "n", Foreign: true},
	{Name: "max_completion_tokens", Foreign: true},
	{Name: "max_tokens", Foreign: true},
	{Name: "response_format", Foreign: true},
	{Name: "reasoning_effort", Foreign: true},
	{Name: "verbosity", Foreign: true},
	{Name: "functions", Foreign: true},
	{Name: "function_call", Foreign: true},
	{Name: "stop", Foreign: true},
	{Name: "logprobs", Foreign: true},
}

// words are the API's names for what chat completions have too.
var words = openai.Words{
	Tool: "function", Schema: "parameters", Namespace: "namespace", Tools: tools,
	CallID: "call_id", Arguments: "arguments", ArgumentsAre: rawjson.KindString,
	ResultOf: "call_id", Result: "output", NeedsResult: true, Parts: parts,
}

// tools are those of OpenAI that the client runs.
var tools = []openai.Tool{
	{
		Type: "custom", Call: "custom_tool_call", Member: "input", Result: "custom_tool_call_output",
		Parameters: `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`,
	},
	{
		Type: "local_shell", Name: "local_shell", Description: "Runs a command on the user's computer.",
		Call: "local_shell_call", Member: "action", Result: "local_shell_call_output",
		Parameters: `{"type":"object","properties":{` +
			`"command":{"type":"array","items":{"type":"string"},"description":"the program and its arguments"},` +
			`"working_directory":{"type":"string"},"timeout_ms":{"type":"integer"},"user":{"type":"string"},` +
			`"env":{"type":"object","additionalProperties":{"type":"string"}}},"required":["command"]}`,
	},
	{
		Type: "shell", Name: "shell", Description: "Runs commands in a shell of the user's.", ClientRuns: isLocal,
		Call: "shell_call", Member: "action", Result: "shell_call_output",
		Parameters: `{"type":"object","properties":{` +
			`"commands":{"type":"array","items":{"type":"string"},"description":"each is run by itself"},` +
			`"timeout_ms":{"type":"integer"},"max_output_length":{"type":"integer"}},"required":["commands"]}`,
	},
	{
		Type: "apply_patch", Name: "apply_patch", Description: "Makes, changes or deletes a file.",
		Call: "apply_patch_call", Member: "operation", Result: "apply_patch_call_output",
		Parameters: `{"type":"object","properties":{` +
			`"type":{"type":"string","enum":["create_file","update_file","delete_file"]},"path":{"type":"string"},` +
			`"diff":{"type":"string","description":"the change as a V4A diff; not for delete_file"}},"required":["type","path"]}`,
	},
	{
		Type: "computer", Name: "computer", Description: computer, Parameters: computerParameters,
		Call: "computer_call", Member: "action", Result: "computer_call_output",
	},
	{
		Type: "computer_use_preview", Name: "computer", Description: computer, Parameters: computerParameters,
		Call: "computer_call", Member: "action", Result: "computer_call_output",
	},
	{
		Type: "tool_search", Name: "tool_search", Description: "Searches for further tools.", ClientRuns: isSearchOfClient,
		Call: "tool_search_call", Member: "arguments", Result: "tool_search_output",
	},
}

const (
	computer           = "Uses a computer by its screen, mouse and keyboard."
	computerParameters = `{"type":"object","properties":{` +
		`"type":{"type":"string","enum":["click","double_click","drag","keypress","move","screenshot","scroll","type","wait"]},` +
		`"x":{"type":"integer"},"y":{"type":"integer"},"button":{"type":"string","enum":["left","right","wheel","back","forward"]},` +
		`"scroll_x":{"type":"integer"},"scroll_y":{"type":"integer"},"text":{"type":"string"},` +
		`"keys":{"type":"array","items":{"type":"string"}},` +
		`"path":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}}}}},` +
		`"required":["type"]}`
)

// isLocal reports whether a shell is the client's, and not one in a container of OpenAI's.
func isLocal(tool []byte) bool {
	environment := openai.Member(tool, "environment")
	return !openai.IsGiven(environment) || openai.Text(environment, "type") == "local"
}

func isSearchOfClient(tool []byte) bool { return openai.Text(tool, "execution") == "client" }

// itemKind is a row of the table of input items. The items of tools are in the table of tools.
type itemKind struct {
	kind string
	// read translates it; nil means that it is of a tool that only OpenAI's servers run, and is left out with a warning.
	read func(d *dialog, a *assistant, param string, item []byte) *openai.Error
	// lacks says why it is refused.
	lacks string
}

// items are the items of the input. Of one that is not here the text is taken; without text it is refused.
var items = []itemKind{
	{kind: "message", read: (*dialog).readMessage},
	{kind: "reasoning", read: (*dialog).readThought},
	{kind: "function_call", read: (*dialog).readCall},
	{kind: "function_call_output", read: (*dialog).readResult},
	{kind: "additional_tools", read: (*dialog).readTools},

	{kind: "code_interpreter_call"},
	{kind: "file_search_call"},
	{kind: "image_generation_call"},
	{kind: "mcp_approval_request"},
	{kind: "mcp_approval_response"},
	{kind: "mcp_call"},
	{kind: "mcp_list_tools"},
	{kind: "program"},
	{kind: "program_output"},
	{kind: "web_search_call"},

	{kind: "compaction", lacks: encrypted},
	{kind: "compaction_trigger", lacks: "this server makes no summary of a conversation"},
	{kind: "item_reference", lacks: storesNothing + ": send the item itself, as clients do that ask with \"store\": false"},
}

// parts are the parts of contents.
var parts = []openai.Part{
	{Type: "input_text", Append: appendText},
	{Type: "output_text", Append: appendText},
	{Type: "text", Append: appendText},
	{Type: "refusal", Append: func(_ *openai.Translation, dst []byte, param string, part []byte) ([]byte, *openai.Error) {
		return openai.AppendTextPart(dst, param, part, "refusal")
	}},
	{Type: "input_image", Append: appendImage},
	{Type: "computer_screenshot", Append: appendImage},
	{Type: "input_file", Append: func(_ *openai.Translation, dst []byte, _ string, part []byte) ([]byte, *openai.Error) {
		dst = appendMembers(append(dst, `{"type":"file","file":{`...), part, "filename", "file_data", "file_url", "file_id")
		return append(dst, "}}"...), nil
	}},
	{Type: "input_audio", Append: func(_ *openai.Translation, dst []byte, param string, part []byte) ([]byte, *openai.Error) {
		audio, err := openai.Required(param, part, "input_audio", rawjson.KindObject)
		return append(append(append(dst, `{"type":"input_audio","input_audio":`...), audio...), '}'), err
	}},
}
