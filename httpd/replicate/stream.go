package replicate

import (
	"bytes"
	"slices"
	"strconv"

	"pinion/httpd/protocol"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// stream answers with the events of a prediction, from its first one on.
func (h *handlers) stream(x *protocol.Exchange) {
	id := x.Param("id")
	m, err := h.modelWith(x, id)
	found := false
	if err == nil {
		found, err = x.Jobs().FollowJob(x.RequestCtx, m, id, &eventWriter{})
	}
	if err == nil && !found {
		err = notFound("prediction", id)
	}
	if err != nil {
		refuse(x.RequestCtx, err)
	}
}

// eventWriter writes a stream in Replicate's events. Each has an id: their client for Python skips those without one.
type eventWriter struct{ events uint64 }

// pieceSize is how many bytes of an event are made at once.
const pieceSize = 8 << 10

// Output appends an item that the model yielded. A text is sent as it is, and other values as JSON.
func (w *eventWriter) Output(dst, item []byte, flush func([]byte) []byte) []byte {
	if rawjson.KindOf(item) != rawjson.KindString {
		return w.event(dst, "output", item, flush)
	}
	dst = w.begin(dst, "output")
	var piece []byte
	for text := item[1 : len(item)-1]; len(text) > 0; {
		n := rawjson.CutText(text, pieceSize)
		piece = rawjson.AppendText(piece[:0], text[:n])
		dst, text = flush(appendData(dst, piece)), text[n:]
	}
	return append(dst, "\n\n"...)
}

// Log appends what the model wrote to stdout or stderr.
func (w *eventWriter) Log(dst, text []byte, flush func([]byte) []byte) []byte {
	return w.event(dst, "logs", text, flush)
}

// End appends the rest of the output, the error, and the event done.
func (w *eventWriter) End(dst []byte, of *predict.Record, flush func([]byte) []byte) []byte {
	if of.Output != nil {
		dst = w.Output(dst, of.Output, flush)
	}
	reason := "{}"
	switch of.Status {
	case predict.Failed:
		dst = w.event(dst, "error", append(appendMember([]byte("{"), "detail", of.Error), '}'), flush)
		reason = `{"reason":"error"}`
	case predict.Canceled:
		reason = `{"reason":"canceled"}`
	}
	return w.event(dst, "done", []byte(reason), flush)
}

func (w *eventWriter) event(dst []byte, name string, data []byte, flush func([]byte) []byte) []byte {
	dst = w.begin(dst, name)
	for piece := range slices.Chunk(data, pieceSize) {
		dst = flush(appendData(dst, piece))
	}
	return append(dst, "\n\n"...)
}

// begin appends the beginning of an event, up to its data.
func (w *eventWriter) begin(dst []byte, name string) []byte {
	dst = append(append(dst, "event: "...), name...)
	dst = strconv.AppendUint(append(dst, "\nid: "...), w.events, 10)
	w.events++
	return append(dst, "\ndata: "...)
}

// appendData appends data, with a line for each of its lines. A carriage return would end the line; in JSON and for
// people it is white space.
func appendData(dst, data []byte) []byte {
	for {
		n := bytes.IndexAny(data, "\r\n")
		if n < 0 {
			return append(dst, data...)
		}
		dst = append(dst, data[:n]...)
		if data[n] == '\n' {
			dst = append(dst, "\ndata: "...)
		} else {
			dst = append(dst, ' ')
		}
		data = data[n+1:]
	}
}
