package answers

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"pinion/httpd/negotiate"
	"pinion/httpd/protocol"
	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/request"
)

const (
	HeaderID      = "Pinion-Prediction-Id"
	HeaderMetrics = "Pinion-Metrics"

	// maxMetricsHeader bounds Pinion-Metrics, in bytes: clients refuse very large headers.
	maxMetricsHeader = 4 << 10
)

// File answers with the output itself if it is one file of a type that the client accepts; else in JSON, where a
// prediction that did not succeed gets an error status. It releases p after the last use of its record.
func (w *Writer) File(ctx *fasthttp.RequestCtx, rec *predict.Record, p *predict.Prediction) {
	h := &ctx.Response.Header
	negotiate.Vary(h, fasthttp.HeaderAccept)
	if rec.Status != predict.Succeeded {
		w.Prediction(ctx, rec, p)
		if rec.Status.Terminal() {
			Restate(ctx, fasthttp.StatusBadGateway)
		}
		return
	}
	if file := p.File(); file != nil {
		content := io.NewSectionReader(file.Content, 0, file.Size)
		if negotiate.Accepts(&ctx.Request.Header, file.Type, true) {
			w.writeFile(ctx, rec, file.Type, file.Name, &fileBody{from: content, of: p}, file.Size)
			return
		}
		if need := int(3 * file.Size); !p.Charge(need) { // its content and its base64 text
			p.Release()
			w.Refuse(ctx, &request.RoomError{Bytes: int64(need), Cause: memory.ErrFull})
			return
		}
		var err error
		if rec.Output, err = inline(file, content); err != nil {
			w.Log.Error("cannot read an output file", slog.Any("error", err))
			p.Release()
			w.Detail(ctx, fasthttp.StatusInternalServerError, "Internal Server Error")
			return
		}
	}
	f, ok := oneFile(rec.Output)
	if !ok || !negotiate.Accepts(&ctx.Request.Header, f.Type, true) {
		w.Prediction(ctx, rec, p)
		h := &ctx.Request.Header
		if !negotiate.Accepts(h, negotiate.TypeJSON, false) && !negotiate.Accepts(h, negotiate.TypeMsgPack, false) {
			Restate(ctx, fasthttp.StatusNotAcceptable)
		}
		return
	}
	w.writeFile(ctx, rec, f.Type, "output"+extension(f.Type), dataBody(f, p), int64(f.Size()))
}

// writeFile answers with a file.
func (w *Writer) writeFile(ctx *fasthttp.RequestCtx, rec *predict.Record, media, name string, body *fileBody,
	size int64,
) {
	sendFile(ctx, media, name, body, size)
	h := &ctx.Response.Header
	h.Set(HeaderID, url.PathEscape(rec.ID))
	h.Set(HeaderMetrics, metricsHeader(rec))
}

// DataFile answers with a file of an output, which of owns.
func DataFile(ctx *fasthttp.RequestCtx, f protocol.DataFile, of memory.Owner) {
	sendFile(ctx, f.Type, "output"+extension(f.Type), dataBody(f, of), int64(f.Size()))
}

// sendFile answers with a file's content.
func sendFile(ctx *fasthttp.RequestCtx, media, name string, body *fileBody, size int64) {
	h := &ctx.Response.Header
	ctx.SetStatusCode(fasthttp.StatusOK)
	h.SetContentType(media)
	h.Set(fasthttp.HeaderContentDisposition, disposition(name))
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff") // browsers must not guess the type of a model's output
	ctx.Response.SetBodyStream(body, int(size))
}

// dataBody is a file of an output as a response body.
func dataBody(f protocol.DataFile, of memory.Owner) *fileBody {
	return &fileBody{from: base64.NewDecoder(base64.StdEncoding, bytes.NewReader(f.Base64)), of: of}
}

// inline returns a file as an output in JSON.
func inline(file *predict.OutputFile, content io.Reader) ([]byte, error) {
	data, err := io.ReadAll(content)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", strconv.Quote(file.Name), err)
	}
	var out []byte
	if file.Listed {
		out = append(out, '[')
	}
	out = append(append(append(out, `"data:`...), file.Type...), ";base64,"...)
	out = append(base64.StdEncoding.AppendEncode(out, data), '"')
	if file.Listed {
		out = append(out, ']')
	}
	return out, nil
}

// oneFile returns the only file of an output: a base64 data URL, alone or alone in a list.
func oneFile(output []byte) (f protocol.DataFile, ok bool) {
	if rawjson.KindOf(output) == rawjson.KindArray {
		items := rawjson.Array(output)
		only, _ := items.Next()
		if _, more := items.Next(); more {
			return f, false
		}
		output = only
	}
	f, ok = protocol.ReadDataFile(bytes.TrimSpace(output))
	return f, ok && f.Valid()
}

// extension returns the file name extension of a media type, with its dot.
func extension(media string) string {
	kind, _, _ := strings.Cut(media, ";")
	top, sub, _ := strings.Cut(strings.ToLower(strings.TrimSpace(kind)), "/")
	switch sub {
	case "jpeg":
		return ".jpg"
	case "mpeg":
		if top == "audio" {
			return ".mp3"
		}
	case "svg+xml":
		return ".svg"
	case "plain":
		return ".txt"
	case "octet-stream", "":
		return ".bin"
	}
	sub = strings.TrimPrefix(sub, "x-")
	if strings.ContainsFunc(sub, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		return ".bin"
	}
	return "." + sub
}

// disposition returns a Content-Disposition with a file name. A browser saves the file and does not run it.
func disposition(name string) string {
	if v := mime.FormatMediaType("attachment", map[string]string{"filename": name}); v != "" {
		return v
	}
	return "attachment"
}

// metricsHeader returns the metrics of a record as one line of ASCII; if they are too long, only the time.
func metricsHeader(rec *predict.Record) string {
	metrics := OneLine(rec.Metrics)
	if len(metrics) > maxMetricsHeader {
		short := []byte("{}")
		for key, value := range rawjson.Members(metrics) {
			if rawjson.KeyIs(key, "predict_time") {
				short = append(append([]byte(`{"predict_time":`), value...), '}')
			}
		}
		metrics = short
	}
	var out strings.Builder
	for len(metrics) > 0 {
		r, size := utf8.DecodeRune(metrics)
		metrics = metrics[size:]
		switch {
		case r < utf8.RuneSelf && r >= ' ':
			out.WriteByte(byte(r))
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	if out.Len() == 0 {
		return `{"predict_time":` + strconv.FormatFloat(seconds(rec), 'f', -1, 64) + `}`
	}
	return out.String()
}

func seconds(rec *predict.Record) float64 {
	if rec.Started.IsZero() || rec.Completed.IsZero() {
		return 0
	}
	return max(0, rec.Completed.Sub(rec.Started)).Seconds()
}

// fileBody is a file as a response body. fasthttp closes it once, when it was written or given up.
type fileBody struct {
	from io.Reader
	of   memory.Owner // nil once it was released
}

// WriteTo writes the file in large blocks.
func (f *fileBody) WriteTo(to io.Writer) (int64, error) {
	return io.CopyBuffer(onlyWriter{to}, onlyReader{f.from}, make([]byte, transport.MaxWrite))
}

func (f *fileBody) uncharged() int { return transport.MaxWrite }

// SupportsBodyWriteTo lets fasthttp call WriteTo rather than Read (fasthttp.BodyWriterTo).
func (f *fileBody) SupportsBodyWriteTo() bool { return true }

func (f *fileBody) Read(b []byte) (int, error) { return f.from.Read(b) }

// Close releases the prediction.
func (f *fileBody) Close() error {
	if f.of != nil {
		f.from = bytes.NewReader(nil)
		f.of.Release()
		f.of = nil
	}
	return nil
}

// onlyWriter and onlyReader hide methods with which io.CopyBuffer would use a smaller buffer.
type (
	onlyWriter struct{ io.Writer }
	onlyReader struct{ io.Reader }
)
