package replicate

import (
	"bytes"
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

// Output appends an item that the model yielded. A text is sent as it is, and other values as JSON.
func (w *eventWriter) Output(dst, item []byte, _ uint64) []byte {
	if rawjson.KindOf(item) != rawjson.KindString {
		return w.event(dst, "output", item)
	}
	return w.event(dst, "output", rawjson.AppendText(nil, item[1:len(item)-1]))
}

// Log appends what the model wrote to stdout or stderr.
func (w *eventWriter) Log(dst, text []byte) []byte { return w.event(dst, "logs", text) }

// End appends the rest of the output, the error, and the event done.
func (w *eventWriter) End(dst []byte, of *predict.Record) []byte {
	if of.Output != nil {
		dst = w.Output(dst, of.Output, 0)
	}
	reason := "{}"
	switch of.Status {
	case predict.Failed:
		dst = w.event(dst, "error", append(appendMember([]byte("{"), "detail", of.Error), '}'))
		reason = `{"reason":"error"}`
	case predict.Canceled:
		reason = `{"reason":"canceled"}`
	}
	return w.event(dst, "done", []byte(reason))
}

// event appends an event, with a line for each line of the data.
func (w *eventWriter) event(dst []byte, name string, data []byte) []byte {
	dst = append(append(dst, "event: "...), name...)
	dst = strconv.AppendUint(append(dst, "\nid: "...), w.events, 10)
	w.events++
	for _, line := range bytes.Split(data, []byte{'\n'}) {
		// A carriage return would end the line; in JSON and for people it is white space.
		dst = append(append(dst, "\ndata: "...), bytes.ReplaceAll(line, []byte{'\r'}, []byte{' '})...)
	}
	return append(dst, "\n\n"...)
}
