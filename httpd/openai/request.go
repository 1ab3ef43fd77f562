package openai

import (
	"slices"
	"strconv"

	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Limits of OpenAI's API.
const (
	maxChoices = 128
	maxImages  = 10
	maxStops   = 4
	maxInputs  = 2048
)

// maxStop is how many bytes a stop sequence may have in JSON. Its copy is not charged to the memory budget.
const maxStop = 16 << 10

func stopTooLong(param string) *Error {
	return WrongValue(param, "it has more than "+strconv.Itoa(maxStop)+" bytes.")
}

// Request is what the server runs for a request, and how it answers.
type Request struct {
	Endpoint Endpoint
	// Inputs are the inputs of the predictions, in order: for each prompt, or text to embed, as many as the client wants
	// choices. Equal ones share their bytes.
	Inputs [][]byte
	// Form are the fields that a form adds to the only input.
	Form []predict.FormField

	Stream       bool
	IncludeUsage bool
	// Stop ends the text of a choice. It is empty if the function handles it.
	Stop []string

	stops *stopSet // of Stop

	wanted    madeFormat
	strange   string   // the first part of a message that is not text, for a function that declares no such parts
	untimed   bool     // a transcript has no times, which the client wants
	ignored   []string // parameters of self-hosted servers that the function does not take
	copied    int64    // bytes of Inputs, charged
	perPrompt int      // predictions for each prompt
	choices   int      // that the client wants of each prompt
	byModel   bool     // the function makes all choices in one prediction
	items     int      // texts to embed
	format    string   // response_format, encoding_format, or stream_format
	documents [][]byte // to rank: JSON strings
	topN      int      // how many documents the client wants; 0 means all
	returns   bool     // the answer has the documents
}

// Read returns what f runs for a request. charge charges the memory that Inputs take, before they are made.
func (f *Function) Read(b *Body, charge func(bytes int64) *Error) (*Request, *Error) {
	r := &Request{Endpoint: f.Endpoint, perPrompt: 1, choices: 1}
	for i := range b.members {
		if err := f.checkMember(r, b, &b.members[i]); err != nil {
			return nil, err
		}
	}
	if err := f.readOptions(r, b); err != nil {
		return nil, err
	}
	subjects, err := f.readPromptValues(r, b)
	if err != nil {
		return nil, err
	}
	if b.form {
		r.Inputs, r.Form = [][]byte{[]byte("{}")}, f.formFields(b)
		return r, nil
	}
	rest := f.rest(b)
	size := len(`{"":}`) + len(f.Endpoint.promptName())
	for _, m := range rest {
		size += len(`,"":`) + rawjson.QuotedLen([]byte(m.name)) + len(m.value)
	}
	for _, s := range subjects {
		r.copied += int64(s.len() + size)
	}
	if r.copied > protocol.FewBytes {
		if err := charge(r.copied); err != nil {
			return nil, err
		}
	}
	for _, s := range subjects {
		input := append(rawjson.AppendQuoted(append(make([]byte, 0, s.len()+size), '{'), f.Endpoint.promptName()), ':')
		input = append(appendMembers(s.append(input), rest), '}')
		for range r.perPrompt {
			r.Inputs = append(r.Inputs, input)
		}
	}
	return r, nil
}

// checkMember refuses a parameter that neither the API nor the function has, and one that cannot be served.
func (f *Function) checkMember(r *Request, b *Body, m *member) *Error {
	p, known := parameterOf(f.Endpoint, m.name)
	if f.accepts(m.name) && p.rule != read || f.accepts(other(m.name)) {
		return nil
	}
	if !known && !f.accepts(m.name) {
		if f.ignores(m.name) || slices.Contains(b.labels, m.name) {
			r.ignored = append(r.ignored, m.name)
			return nil
		}
		return invalid(m.name, CodeUnknownParameter, "Unknown parameter: '"+logtext.Clip(m.name)+"'.")
	}
	value := b.get(m.name, p.kind)
	if value == nil || m.name == f.Endpoint.promptName() {
		return nil
	}
	if p.rule == made {
		return r.wantMade(p, value)
	}
	if m.name == "tool_choice" && f.accepts("tools") && string(value) == `"none"` {
		p.neutral = nil
	}
	return p.check(value)
}

// other returns the other name of a parameter that has two.
func other(name string) string {
	switch name {
	case "max_tokens":
		return "max_completion_tokens"
	case "max_completion_tokens":
		return "max_tokens"
	}
	return ""
}

// readOptions reads the parameters that the server handles.
func (f *Function) readOptions(r *Request, b *Body) *Error {
	r.Stream = string(b.get("stream", boolean)) == "true" && f.Endpoint != Embeddings && f.Endpoint != Images
	if f.Endpoint == Speech {
		r.Stream = f.Iterates
	}
	if f.Endpoint == Rerank {
		return r.readRanking(b)
	}
	if options := b.get("stream_options", object); options != nil && r.Stream {
		if err := f.readStreamOptions(r, options); err != nil {
			return err
		}
	}
	if err := f.readChoices(r, b.get("n", number)); err != nil {
		return err
	}
	if stop := b.get("stop", anything); stop != nil && !f.accepts("stop") {
		stops, err := readStop(stop)
		if err != nil {
			return err
		}
		r.setStop(stops)
	}
	return r.readFormat(b)
}

func (f *Function) readStreamOptions(r *Request, options []byte) *Error {
	for key, value := range rawjson.Members(options) {
		switch name := rawjson.Name(key); name {
		case "include_usage", "include_obfuscation":
			if k := rawjson.KindOf(value); k != boolean && k != rawjson.KindNull {
				return WrongType("stream_options."+name, "a boolean", value)
			}
			if name == "include_usage" {
				r.IncludeUsage = string(value) == "true"
			}
		default:
			if !f.Strict && slices.Contains(streamOptions, name) {
				r.ignored = append(r.ignored, "stream_options."+name)
				continue
			}
			return invalid("stream_options."+logtext.Clip(name), CodeUnknownParameter,
				"Unknown parameter: 'stream_options."+logtext.Clip(name)+"'.")
		}
	}
	return nil
}

func (f *Function) readChoices(r *Request, n []byte) *Error {
	if n == nil || f.Endpoint != Chat && f.Endpoint != Completions && f.Endpoint != Images {
		return nil
	}
	most := maxChoices
	if f.Endpoint == Images {
		most = maxImages
	}
	count, err := strconv.Atoi(string(n))
	switch {
	case rawjson.KindOf(n) != number || err != nil && !isInteger(n):
		return WrongType("n", "an integer", n)
	case err != nil, count < 1, count > most:
		return WrongValue("n", "must be between 1 and "+strconv.Itoa(most)+", not "+string(n)+".")
	}
	r.choices = count
	if r.byModel = f.accepts("n"); !r.byModel {
		r.perPrompt = count
	}
	return nil
}

func readStop(value []byte) ([]string, *Error) {
	switch rawjson.KindOf(value) {
	case text:
		if len(value) > maxStop {
			return nil, stopTooLong("stop")
		}
		if s := rawjson.Text(value); s != "" {
			return []string{s}, nil
		}
		return nil, nil
	case array:
	default:
		return nil, WrongType("stop", "a string or an array of strings", value)
	}
	var stops []string
	for i, item := range rawjson.Items(value) {
		param := Indexed("stop", i)
		switch {
		case i == maxStops:
			return nil, WrongValue("stop", "it has more than "+strconv.Itoa(maxStops)+" items.")
		case rawjson.KindOf(item) != text:
			return nil, WrongType(param, "a string", item)
		case len(item) > maxStop:
			return nil, stopTooLong(param)
		}
		if s := rawjson.Text(item); s != "" {
			stops = append(stops, s)
		}
	}
	return stops, nil
}

// formats are the values of response_format and encoding_format; the first one is the default.
var (
	embeddingFormats     = []string{"float", "base64"}
	transcriptionFormats = []string{"json", "text", "verbose_json", "srt", "vtt"}
	imageFormats         = []string{"b64_json", "url"}
	speechFormats        = []string{"audio", "sse"}
)

func (r *Request) readFormat(b *Body) *Error {
	name, formats := "response_format", []string(nil)
	switch r.Endpoint {
	case Embeddings:
		name, formats = "encoding_format", embeddingFormats
	case Transcriptions:
		formats = transcriptionFormats
	case Images:
		formats = imageFormats
	case Speech:
		name, formats = "stream_format", speechFormats
	default:
		return nil
	}
	r.format = formats[0]
	if value := b.get(name, text); value != nil {
		if r.format = rawjson.Text(value); !slices.Contains(formats, r.format) {
			return WrongValue(name, "'"+logtext.Clip(r.format)+"' is not one of "+listed(formats)+".")
		}
	}
	if r.Endpoint == Transcriptions && r.Stream && r.format != "json" && r.format != "text" {
		return WrongValue(name, "'"+r.format+"' cannot be streamed; use 'json' or 'text'.")
	}
	return nil
}

func listed(words []string) string {
	out := ""
	for i, w := range words {
		if i > 0 {
			out += ", "
		}
		out += "'" + w + "'"
	}
	return out
}

// rest returns the parameters that the function takes beside its prompts.
func (f *Function) rest(b *Body) (list []member) {
	for _, m := range b.members {
		value := b.get(m.name, anything)
		name := m.name
		if o := other(name); o != "" && !f.accepts(name) {
			if name = o; b.get(name, number) != nil {
				continue // given under both names: that of the function counts
			}
		}
		if value == nil || !f.accepts(name) || name == f.Endpoint.promptName() {
			continue
		}
		if value = f.shape(name, value); value != nil {
			list = append(list, member{name: name, value: value})
		}
	}
	return list
}

func (f *Function) formFields(b *Body) []predict.FormField {
	var fields []predict.FormField
	for _, m := range b.members {
		if f.accepts(m.name) {
			fields = append(fields, m.field...)
		}
	}
	return fields
}
