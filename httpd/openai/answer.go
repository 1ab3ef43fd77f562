package openai

import (
	"strconv"

	"pinion/runtime/rawjson"
)

// Head is what all answers of a request share.
type Head struct {
	ID      string // of the first prediction
	Created int64  // seconds since 1970
	Model   string
}

// Result is how a prediction of a request ended, which succeeded.
type Result struct {
	Output  []byte // JSON
	Metrics []byte // a JSON object, or nil
}

// The types of answers.
const (
	ContentJSON = "application/json"
	contentText = "text/plain; charset=utf-8"
)

// Answer returns the answer that is not a stream, and its content type. There is a result for each input.
func (r *Request) Answer(h Head, results []Result) (body []byte, contentType string, err *Error) {
	switch r.Endpoint {
	case Chat, Completions:
		body, err = r.answerText(h, results)
	case Embeddings:
		body, err = r.answerEmbeddings(h, results)
	case Images:
		body, err = r.answerImages(h, results)
	case Rerank:
		body, err = r.answerRanking(h, results)
	case Speech:
		return r.answerSpeech(results)
	default:
		return r.answerTranscription(results)
	}
	return body, ContentJSON, err
}

func (r *Request) answerText(h Head, results []Result) ([]byte, *Error) {
	messages, err := r.messages(results)
	if err != nil {
		return nil, err
	}
	kind := "chat.completion"
	if r.Endpoint == Completions {
		kind = "text_completion"
	}
	dst := appendHead(nil, r.Endpoint, kind, h)
	dst = append(dst, `"choices":[`...)
	for i := range messages {
		m := &messages[i]
		dst = rawjson.Comma(dst, i > 0)
		m.cut(r)
		if r.Endpoint == Chat {
			dst = strconv.AppendInt(append(dst, `{"index":`...), int64(i), 10)
			dst = m.append(append(dst, `,"message":`...))
		} else {
			dst = append(append(dst, `{"text":"`...), m.content...)
			dst = strconv.AppendInt(append(dst, `","index":`...), int64(i), 10)
			dst = appendMembers(dst, m.rest)
		}
		dst = rawjson.AppendQuoted(append(dst, `,"logprobs":null,"finish_reason":`...), m.reason())
		dst = append(dst, '}')
	}
	dst = r.Usage(results).append(append(dst, `],"usage":`...), r.Endpoint)
	return append(dst, '}'), nil
}

// appendHead appends the beginning of an answer's object.
func appendHead(dst []byte, e Endpoint, kind string, h Head) []byte {
	prefix := "chatcmpl-"
	if e == Completions {
		prefix = "cmpl-"
	}
	dst = rawjson.AppendQuoted(append(dst, `{"id":`...), prefix+h.ID)
	dst = append(append(append(dst, `,"object":"`...), kind...), `","created":`...)
	dst = strconv.AppendInt(dst, h.Created, 10)
	dst = rawjson.AppendQuoted(append(dst, `,"model":`...), h.Model)
	return append(dst, ',')
}

func (r *Request) messages(results []Result) ([]message, *Error) {
	var parsed []message
	for i := range results {
		found, err := r.messagesOf(results[i].Output)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, found...)
	}
	return parsed, nil
}

// messagesOf returns the messages in the output of one prediction.
func (r *Request) messagesOf(output []byte) ([]message, *Error) {
	want := r.inOne()
	if want == 1 {
		var m message
		if rawjson.KindOf(output) != array {
			return []message{m}, m.add(output)
		}
		for _, item := range rawjson.Items(output) { // of an iterator
			if err := m.add(item); err != nil {
				return nil, err
			}
		}
		m.has = m.has || len(m.calls) == 0 && m.refusal.value == nil // no item is an empty text
		return []message{m}, nil
	}
	if rawjson.KindOf(output) != array {
		return nil, BadOutput("The model returned " + typeOf(output) + " for " + strconv.Itoa(want) +
			" choices; it must be a list of them.")
	}
	var parsed []message
	indexed := 0
	for _, item := range rawjson.Items(output) {
		at := indexOf(item)
		if at < 0 {
			at = indexed
			indexed++
		}
		if at >= want {
			return nil, tooManyChoices(at+1, want)
		}
		for len(parsed) <= at {
			parsed = append(parsed, message{})
		}
		if err := parsed[at].add(item); err != nil {
			return nil, err
		}
	}
	if len(parsed) < want {
		return nil, tooManyChoices(len(parsed), want)
	}
	return parsed, nil
}

func tooManyChoices(got, want int) *Error {
	return BadOutput("The model returned " + strconv.Itoa(got) + " choices; the request asks for " + strconv.Itoa(want) +
		".")
}

// inOne returns how many choices a prediction makes.
func (r *Request) inOne() int {
	if r.byModel {
		return r.choices
	}
	return max(1, r.items*r.perPrompt/len(r.Inputs))
}

// indexOf returns the choice that an item belongs to, or -1 if it does not say.
func indexOf(item []byte) int {
	if rawjson.KindOf(item) == object {
		if n, err := strconv.Atoi(string(Member(item, "index"))); err == nil && n >= 0 {
			return n
		}
	}
	return -1
}
