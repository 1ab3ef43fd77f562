package openai

import (
	"bytes"
	"encoding/base64"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
)

const contentBytes = "application/octet-stream"

// audioOf returns the media type and the base64 of an item: a data URL, which files become, or base64 alone.
func audioOf(item []byte) (mediaType, encoded []byte, err *Error) {
	if rawjson.KindOf(item) != text {
		return nil, nil, BadOutput("The model returned " + typeOf(item) + "; a speech function returns or yields a cog.Path.")
	}
	mediaType, encoded = []byte(contentBytes), inside(item)
	if head, data, ok := bytes.Cut(encoded, []byte(";base64,")); ok && bytes.HasPrefix(head, []byte("data:")) {
		mediaType, encoded = head[len("data:"):], data
	}
	if bytes.ContainsAny(encoded, `\:`) {
		return nil, nil, BadOutput("The model returned a text that is not audio; a speech function returns or yields a cog.Path.")
	}
	return mediaType, encoded, nil
}

// appendAudio appends the bytes of an item.
func appendAudio(dst, encoded []byte) ([]byte, *Error) {
	out, err := base64.StdEncoding.AppendDecode(dst, encoded)
	if err != nil {
		return dst, BadOutput("The model returned a text that is not base64; a speech function returns or yields a cog.Path.")
	}
	return out, nil
}

// appendAudioEvent appends an item as an event.
func appendAudioEvent(dst, encoded []byte) []byte {
	dst = append(append(dst, `data: {"type":"speech.audio.delta","audio":"`...), encoded...)
	return append(dst, "\"}\n\n"...)
}

func appendAudioDone(dst []byte, u Usage) []byte {
	dst = append(dst, `data: {"type":"speech.audio.done","usage":`...)
	return append(u.appendTokens(dst), "}\n\n"...)
}

// answerSpeech returns the audio of a function that does not iterate and whose output is not a single file, or its
// events.
func (r *Request) answerSpeech(results []Result) ([]byte, string, *Error) {
	var out []byte
	mediaType, list := []byte(contentBytes), results[0].Output
	if rawjson.KindOf(list) != array {
		list = append(append([]byte{'['}, list...), ']')
	}
	for _, item := range rawjson.Items(list) {
		media, encoded, err := audioOf(item)
		if err == nil {
			err = r.wanted.check(string(media))
		}
		if err == nil && r.format == "audio" {
			out, err = appendAudio(out, encoded)
		}
		if err != nil {
			return nil, "", err
		}
		if mediaType = media; r.format == "sse" {
			out = appendAudioEvent(out, encoded)
		}
	}
	if r.format == "sse" {
		return appendAudioDone(out, r.Usage(results)), contentStream, nil
	}
	return out, string(mediaType), nil
}

// speechRenderer writes what a function yields, as bytes or events. It is a protocol.ByteRenderer.
type speechRenderer struct {
	q         *request
	run       *protocol.Run
	mediaType string // of the first item
	bad       *Error // an item that is not audio, or why the model failed
	items     int64
	first     time.Time
}

func (r *speechRenderer) events() bool { return r.q.format == "sse" }

// Item appends an item.
func (r *speechRenderer) Item(dst, item []byte) ([]byte, bool) {
	media, encoded, err := audioOf(item)
	if err == nil {
		err = r.q.wanted.check(string(media))
	}
	if err == nil && !r.events() {
		dst, err = appendAudio(dst, encoded)
	}
	if err != nil {
		r.bad = err
		return dst, false
	}
	if r.items++; r.items == 1 {
		r.mediaType, r.first = string(media), time.Now()
	}
	if r.events() {
		dst = appendAudioEvent(dst, encoded)
	}
	return dst, true
}

// Ping appends what keeps a stream of events open. Bytes have nothing of that kind.
func (r *speechRenderer) Ping(dst []byte) []byte {
	if r.events() {
		dst = append(dst, ": keep-alive\n\n"...)
	}
	return dst
}

// ContentType implements protocol.ByteRenderer.
func (r *speechRenderer) ContentType() string {
	switch {
	case r.events():
		return contentStream
	case r.mediaType == "":
		return contentBytes
	}
	return r.mediaType
}

// Broken implements protocol.ByteRenderer.
func (r *speechRenderer) Broken() *protocol.Error {
	if r.bad == nil || r.events() {
		return nil
	}
	if r.bad.Status == fasthttp.StatusBadRequest {
		return protocol.Errorf(protocol.BadInput, "%s", r.bad.Message)
	}
	return protocol.Errorf(protocol.Failed, "%s", r.bad.Message)
}

// End appends the end of the stream.
func (r *speechRenderer) End(dst []byte, err *protocol.Error) []byte {
	if err != nil {
		r.bad = r.q.errorOf(err)
	}
	if r.bad != nil {
		if r.items > 0 || r.events() { // else it is answered, and told, as an error
			r.q.reportStream(r.bad.Status, r.items, r.first, 0)
		}
		if r.events() {
			dst = AppendFailure(dst, r.bad)
		}
		return dst
	}
	r.q.reportStream(fasthttp.StatusOK, r.items, r.first, 0)
	if r.events() {
		r.run.Settle()
		dst = appendAudioDone(dst, r.q.Usage(resultsOf(r.run, 1)))
	}
	return dst
}
