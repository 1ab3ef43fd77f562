package openai

import (
	"slices"

	"pinion/runtime/rawjson"
)

// rule says what happens to a parameter that the function does not take.
type rule uint8

const (
	read    rule = iota // this package reads it
	ignored             // it only tunes or labels the answer
	refused             // it would change the answer, so the client must know that it does not
	made                // it is served if the model makes what it names anyway
)

// parameter is a parameter of OpenAI's API. null stands for an absent one.
type parameter struct {
	name string
	rule rule
	kind rawjson.Kind // of its value; KindInvalid: any
	// neutral are values of a refused parameter that ask for what the answer is anyway, or of one of what is made that
	// clients send unasked.
	neutral []string
}

const (
	number   = rawjson.KindNumber
	text     = rawjson.KindString
	boolean  = rawjson.KindBool
	object   = rawjson.KindObject
	array    = rawjson.KindArray
	anything = rawjson.KindInvalid
)

// common are parameters of all endpoints.
var common = []parameter{
	{"model", read, text, nil},
	{"user", ignored, text, nil},
}

// generation are parameters of the endpoints that write text.
var generation = []parameter{
	{"stream", read, boolean, nil},
	{"stream_options", read, object, nil},
	{"n", read, number, nil},
	{"stop", read, anything, nil},
	{"temperature", ignored, number, nil},
	{"top_p", ignored, number, nil},
	{"seed", ignored, number, nil},
	{"frequency_penalty", ignored, number, nil},
	{"presence_penalty", ignored, number, nil},
	{"logit_bias", ignored, object, nil},
	{"max_tokens", ignored, number, nil},
}

// parameters are the further parameters of each endpoint.
var parameters = [...][]parameter{
	Chat: {
		{"messages", read, array, nil},
		{"max_completion_tokens", ignored, number, nil},
		{"metadata", ignored, object, nil},
		{"store", ignored, boolean, nil},
		{"service_tier", ignored, text, nil},
		{"parallel_tool_calls", ignored, boolean, nil},
		{"prompt_cache_key", ignored, text, nil},
		{"prompt_cache_retention", ignored, text, nil},
		{"prompt_cache_options", ignored, object, nil},
		{"safety_identifier", ignored, text, nil},
		{"reasoning_effort", ignored, text, nil},
		{"verbosity", ignored, text, nil},
		{"prediction", ignored, object, nil},
		{"tools", refused, array, []string{"[]"}},
		{"tool_choice", refused, anything, []string{`"none"`, `"auto"`}},
		{"functions", refused, array, []string{"[]"}},
		{"function_call", refused, anything, []string{`"none"`, `"auto"`}},
		{"response_format", refused, object, []string{`{"type":"text"}`}},
		{"logprobs", refused, boolean, []string{"false"}},
		{"top_logprobs", refused, number, []string{"0"}},
		{"audio", refused, object, nil},
		{"modalities", refused, array, []string{`["text"]`, "[]"}},
		{"moderation", refused, object, nil},
		{"web_search_options", refused, object, nil},
	},
	Completions: {
		{"prompt", read, anything, nil},
		{"suffix", refused, text, []string{`""`}},
		{"echo", refused, boolean, []string{"false"}},
		{"logprobs", refused, number, nil},
		{"best_of", refused, number, []string{"1"}},
	},
	Embeddings: {
		{"input", read, anything, nil},
		{"encoding_format", read, text, nil},
		{"dimensions", refused, number, nil},
	},
	Transcriptions: {
		{"file", read, anything, nil},
		{"response_format", read, text, nil},
		{"stream", read, boolean, nil},
		{"language", ignored, text, nil},
		{"prompt", ignored, text, nil},
		{"temperature", ignored, number, nil},
		{"chunking_strategy", ignored, anything, nil},
		{"include", refused, array, []string{"[]"}},
		{"keywords", ignored, array, nil},
		{"languages", ignored, array, nil},
		{"timestamp_granularities", refused, array, []string{"[]", `["segment"]`}},
		{"known_speaker_names", refused, array, []string{"[]"}},
		{"known_speaker_references", refused, array, []string{"[]"}},
	},
	Images: {
		{"prompt", read, anything, nil},
		{"n", read, number, nil},
		{"response_format", read, text, nil},
		{"quality", ignored, text, nil},
		{"moderation", ignored, text, nil},
		{"output_compression", ignored, number, nil},
		{"complexity", ignored, text, nil},
		{"safety_identifier", ignored, text, nil},
		{"style", refused, text, nil},
		{"size", refused, text, []string{`"auto"`}},
		{"background", refused, text, []string{`"auto"`}},
		{"output_format", made, text, nil},
		{"frame_count", refused, number, nil},
		{"frame_duration_ms", refused, number, nil},
		{"svg", refused, object, nil},
		{"partial_images", refused, number, []string{"0"}},
		{"stream", refused, boolean, []string{"false"}},
	},
	Speech: {
		{"input", read, text, nil},
		{"stream_format", read, text, nil},
		{"voice", ignored, anything, nil},
		{"instructions", ignored, text, nil},
		{"speed", refused, number, []string{"1", "1.0"}},
		{"response_format", made, text, []string{`"mp3"`}},
	},
	Rerank: {
		{"documents", read, array, nil},
		{"query", read, text, nil},
		{"top_n", read, number, nil},
		{"return_documents", read, boolean, nil},
		{"max_tokens_per_doc", ignored, number, nil},
		{"max_chunks_per_doc", ignored, number, nil},
		{"truncation", ignored, anything, nil},
		{"priority", ignored, number, nil},
		{"rank_fields", refused, array, []string{"[]"}},
	},
}

func parameterOf(e Endpoint, name string) (parameter, bool) {
	lists := [...][]parameter{parameters[e], common, nil}
	if e == Chat || e == Completions {
		lists[2] = generation
	}
	for _, list := range lists {
		for i := range list {
			if list[i].name == name {
				return list[i], true
			}
		}
	}
	return parameter{}, false
}

// check returns why a parameter that the function does not take cannot be served.
func (p parameter) check(value []byte) *Error {
	if p.kind != anything && p.kind != rawjson.KindOf(value) {
		return WrongType(p.name, wanted(p.kind), value)
	}
	if p.rule == refused && (len(value) > longest || !slices.Contains(p.neutral, compact(value))) {
		return invalid(p.name, CodeUnsupportedParameter,
			"Unsupported parameter: '"+p.name+"' is not supported with this model, whose function does not take it.")
	}
	return nil
}

// longest is how many bytes a neutral value may have.
const longest = 64

// compact returns a value without the space between its tokens.
func compact(value []byte) string {
	out := make([]byte, 0, len(value))
	inside := false
	for i, c := range value {
		if c == '"' && (i == 0 || value[i-1] != '\\') {
			inside = !inside
		}
		if inside || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			out = append(out, c)
		}
	}
	return string(out)
}
