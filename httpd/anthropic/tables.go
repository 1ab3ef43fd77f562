package anthropic

import (
	"pinion/httpd/openai"
	"pinion/runtime/rawjson"
)

// fields is what happens to the parameters. One that is not here is handed on: the function may take it.
var fields = []openai.Field[*dialog]{
	{Name: "messages", Read: func(d *dialog, value []byte) *openai.Error { d.list = value; return nil }},
	{Name: "system", Read: func(d *dialog, value []byte) *openai.Error { d.system = value; return nil }},
	{Name: "max_tokens", Read: (*dialog).readLimit},
	{Name: "stop_sequences", Read: (*dialog).readStops},
	{Name: "tools", Read: func(d *dialog, value []byte) *openai.Error { return d.AddTools("tools", value) }},
	{Name: "tool_choice", Read: (*dialog).readToolChoice},
	{Name: "thinking", Read: (*dialog).readThinking},
	{Name: "metadata", Read: (*dialog).readMetadata},
	{Name: "output_config", Read: (*dialog).readOutput},

	{Name: "billing_policy", Label: true},
	{Name: "cache_control", Label: true},
	{Name: "container", Label: true}, // the tools that would run there are left out
	{Name: "context_management", Label: true},
	{Name: "diagnostics", Label: true},
	{Name: "fallback_credit_token", Label: true},
	{Name: "fallbacks", Label: true},
	{Name: "inference_geo", Label: true},
	{Name: "mcp_servers", Read: (*dialog).leaveOutServers},
	{Name: "service_tier", Label: true},
	{Name: "speed", Label: true},
	{Name: "user_profile_id", Label: true},
	{Name: "workspace_id", Label: true},

	{Name: "compaction", Lacks: "this server makes no summary of a conversation"},
	{
		Name: "thread", Lacks: "this server keeps no conversations: send all messages in each request",
		// Anthropic's clients then do so by themselves.
		Details: `{"error_code":"thread_unsupported_request","unsupported":["thread"]}`,
	},

	{Name: "n", Foreign: true},
	{Name: "stop", Foreign: true},
	{Name: "max_completion_tokens", Foreign: true},
	{Name: "response_format", Foreign: true},
	{Name: "functions", Foreign: true},
	{Name: "function_call", Foreign: true},
	{Name: "logprobs", Foreign: true},
}

// words are the API's names for what chat completions have too.
var words = openai.Words{
	Tool: "custom", Untyped: true, Schema: "input_schema", NeedsSchema: true, Tools: tools,
	CallID: "id", Arguments: "input", ArgumentsAre: rawjson.KindObject,
	ResultOf: "tool_use_id", Result: "content", Parts: parts,
}

// tools are those of Anthropic that the client runs.
var tools = []openai.Tool{
	{
		Type: "bash_", Description: "Runs a command in a shell that stays open, and returns what it prints.",
		Parameters: `{"type":"object","properties":{"command":{"type":"string","description":"the command to run"},` +
			`"restart":{"type":"boolean","description":"true starts a new shell, without a command"}}}`,
	},
	{
		Type: "text_editor_", Description: "Views, makes and edits text files.",
		Parameters: `{"type":"object","properties":{` +
			`"command":{"type":"string","enum":["view","create","str_replace","insert","undo_edit"]},` +
			`"path":{"type":"string","description":"of the file, or of a folder to view"},` +
			`"view_range":{"type":"array","items":{"type":"integer"},"description":"view: the first and the last line, from 1; -1 is the end"},` +
			`"file_text":{"type":"string","description":"create: the whole text"},` +
			`"old_str":{"type":"string","description":"str_replace: a text that the file has once"},` +
			`"new_str":{"type":"string","description":"str_replace: the text in its place"},` +
			`"insert_line":{"type":"integer","description":"insert: the line after which the text comes; 0 is the beginning"},` +
			`"insert_text":{"type":"string","description":"insert: the text"}},"required":["command","path"]}`,
	},
	{
		Type: "memory_", Description: "Keeps notes in files below /memories, which later conversations have too.",
		Parameters: `{"type":"object","properties":{` +
			`"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"]},` +
			`"path":{"type":"string","description":"of the file or folder"},` +
			`"view_range":{"type":"array","items":{"type":"integer"},"description":"view: the first and the last line"},` +
			`"file_text":{"type":"string","description":"create: the whole text"},` +
			`"old_str":{"type":"string","description":"str_replace: the text to replace"},` +
			`"new_str":{"type":"string","description":"str_replace: the text in its place"},` +
			`"insert_line":{"type":"integer","description":"insert: the line after which the text comes"},` +
			`"insert_text":{"type":"string","description":"insert: the text"},` +
			`"old_path":{"type":"string","description":"rename: the path so far"},` +
			`"new_path":{"type":"string","description":"rename: the new path"}},"required":["command"]}`,
	},
	{
		Type: "computer_20", Description: "Uses a computer by its screen, mouse and keyboard.",
		Parameters: `{"type":"object","properties":{` +
			`"action":{"type":"string","description":"screenshot, left_click, right_click, middle_click, double_click, triple_click, ` +
			`left_click_drag, left_mouse_down, left_mouse_up, mouse_move, cursor_position, type, key, hold_key, scroll, wait or zoom"},` +
			`"coordinate":{"type":"array","items":{"type":"integer"},"description":"x and y in pixels"},` +
			`"start_coordinate":{"type":"array","items":{"type":"integer"},"description":"where a drag begins"},` +
			`"text":{"type":"string","description":"what to type, or the keys to press"},` +
			`"scroll_direction":{"type":"string","enum":["up","down","left","right"]},"scroll_amount":{"type":"integer"},` +
			`"duration":{"type":"number","description":"in seconds"},` +
			`"region":{"type":"array","items":{"type":"integer"},"description":"zoom: two corners"}},"required":["action"]}`,
	},
}

// parts are the blocks of contents.
var parts = []openai.Part{
	{Type: "text", Append: func(_ *openai.Translation, dst []byte, param string, block []byte) ([]byte, *openai.Error) {
		return openai.AppendTextPart(dst, param, block, "text")
	}},
	{Type: "image", Append: appendImage},
	{Type: "document", Append: appendDocument},
	{Type: "tool_reference", Append: func(_ *openai.Translation, dst []byte, param string, block []byte) ([]byte, *openai.Error) {
		return openai.AppendTextPart(dst, param, block, "tool_name")
	}},
	{Type: "tool_addition", Append: addTool},
	{Type: "container_upload", Append: refuseUpload},

	// What Anthropic's servers have done, or do.
	{Type: "advisor_tool_result"},
	{Type: "bash_code_execution_tool_result"},
	{Type: "code_execution_tool_result"},
	{Type: "compaction"},
	{Type: "fallback"},
	{Type: "mcp_tool_listing"},
	{Type: "mcp_tool_result"},
	{Type: "mcp_tool_use"},
	{Type: "server_tool_use"},
	{Type: "text_editor_code_execution_tool_result"},
	{Type: "tool_removal"},
	{Type: "tool_search_tool_result"},
	{Type: "web_fetch_tool_result"},
	{Type: "web_search_tool_result"},
}
