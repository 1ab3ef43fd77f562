package answers

import (
	"bytes"
	"io"

	"github.com/valyala/fasthttp"

	"pinion/httpd/negotiate"
	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Restate replaces the status of an answer, unless it is a refusal.
func Restate(ctx *fasthttp.RequestCtx, status int) {
	if ctx.Response.StatusCode() == fasthttp.StatusOK {
		ctx.SetStatusCode(status)
	}
}

// Prediction answers with a prediction object. A small one goes into the response's buffer. A large one is streamed
// from the record, because a copy would double its memory while the client reads. It releases p after the last use of
// the record.
func (w *Writer) Prediction(ctx *fasthttp.RequestCtx, rec *predict.Record, p *predict.Prediction) {
	ctx.SetStatusCode(fasthttp.StatusOK)
	ctx.Response.Header.SetContentType(negotiate.TypeJSON)
	if len(rec.Input)+len(rec.Output)+len(rec.Error)+len(rec.Logs)+len(rec.Metrics) > MaxReused {
		body := new(sliceBody)
		body.parts[0] = w.Object.AppendHead(nil, rec)
		body.parts[1] = rec.Output
		body.parts[2] = w.Object.AppendTail(nil, rec)
		body.made = cap(body.parts[0]) + cap(body.parts[2]) // besides the record
		body.of = p
		ctx.Response.SetBodyStream(body, body.size())
		return
	}
	ctx.Response.SwapBody(w.Object.Append(ctx.Response.SwapBody(nil)[:0], rec))
	p.Release()
}

// Object answers with a prediction object. of, if not nil, is released after its last use.
func Object(ctx *fasthttp.RequestCtx, object []byte, of memory.Owner) {
	ctx.Response.Header.SetContentType(negotiate.TypeJSON)
	if len(object) <= MaxReused || of == nil { // a small one is not charged
		ctx.Response.SetBodyRaw(object)
		if of != nil {
			of.Release()
		}
		return
	}
	ctx.Response.SetBodyStream(&sliceBody{parts: [3][]byte{object}, of: of}, len(object))
}

// Announce notes the id of a request's prediction for the log, and adds warnings to the answer.
func (w *Writer) Announce(ctx *fasthttp.RequestCtx, id string, warnings []string) {
	w.Access.Named(ctx, id)
	Warn(ctx, warnings)
}

// Hold charges what was made for an answer until the client has taken it. What belongs to a prediction is charged to
// that, and a stream charges what it gathers. An error means that the answer is gone.
func Hold(ctx *fasthttp.RequestCtx, c *transport.Conn) error {
	made := 0
	if !ctx.Response.IsBodyStream() {
		made = len(ctx.Response.Body())
	} else if body, ok := ctx.Response.BodyStream().(interface{ uncharged() int }); ok {
		made = body.uncharged()
	}
	err := c.HoldAnswer(int64(made))
	if err != nil {
		ctx.Response.ResetBody() // releases what it belongs to
	}
	return err
}

// partsKey is the key of an answer of Parts in its context: it may be compressed, tensors in binary included.
type partsKey struct{}

// Parts answers with parts, which are not copied if they are large. made is how many bytes of them are charged to
// nothing yet. of, if not nil, is released after their last use.
func Parts(ctx *fasthttp.RequestCtx, contentType string, parts [][]byte, made int, of memory.Owner) {
	ctx.SetUserValue(partsKey{}, true)
	ctx.Response.Header.SetContentType(contentType)
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if size <= MaxReused {
		body := ctx.Response.SwapBody(nil)[:0]
		for _, part := range parts {
			body = append(body, part...)
		}
		ctx.Response.SwapBody(body)
		if of != nil {
			of.Release()
		}
		return
	}
	if len(parts) > len(sliceBody{}.parts) { // headers before the large ones
		parts = joinSmall(parts)
	}
	if len(parts) <= len(sliceBody{}.parts) {
		body := &sliceBody{made: made, of: of}
		copy(body.parts[:], parts)
		ctx.Response.SetBodyStream(body, size)
		return
	}
	ctx.Response.SetBodyRaw(bytes.Join(parts, nil))
	if of != nil {
		of.Release()
	}
}

// OutputFile answers with a file of a model. of is released after its last use.
func OutputFile(ctx *fasthttp.RequestCtx, file *predict.OutputFile, of memory.Owner) {
	header := &ctx.Response.Header
	header.SetContentType(file.Type)
	header.Set(fasthttp.HeaderXContentTypeOptions, "nosniff") // browsers must not guess the type of a model's output
	ctx.Response.SetBodyStream(&fileBody{from: io.NewSectionReader(file.Content, 0, file.Size), of: of},
		int(file.Size))
}

// joinSmall joins neighbours that are cheaper to copy than to write one by one.
func joinSmall(parts [][]byte) [][]byte {
	var out [][]byte
	small := false // the last part of out is a joined one
	for _, part := range parts {
		if small && len(part) < MaxReused {
			out[len(out)-1] = append(out[len(out)-1], part...)
			continue
		}
		if small = len(part) < MaxReused; small {
			part = bytes.Clone(part)
		}
		out = append(out, part)
	}
	return out
}

// Starting returns the prediction object of one that has not begun.
func Starting(id string) []byte {
	const begin, end = `{"id":`, `,"status":"starting"}`
	// longer only for an id that is escaped
	object := append(make([]byte, 0, len(begin)+len(`""`)+len(id)+len(end)), begin...)
	return append(rawjson.AppendQuoted(object, id), end...)
}
