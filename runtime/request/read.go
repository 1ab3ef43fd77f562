package request

import (
	"bytes"
	"errors"
	"io"

	"pinion/runtime/memory"
	"pinion/runtime/msgpack"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// ErrTooLarge means that a body is larger as JSON than Reader.MaxBody.
var ErrTooLarge = errors.New("the body is too large")

// Error is what is wrong with a body that cannot be read.
type Error struct{ Reason string }

func (e *Error) Error() string { return e.Reason }

// Refusal says that the body is at fault.
func (e *Error) Refusal() predict.Refusal { return predict.Refusal{Kind: predict.RefusedBody} }

// Reader reads bodies of create requests.
type Reader struct {
	Memory   *memory.Budget     // nil means no limit
	MaxBody  int64              // of a body as JSON, in bytes
	NewFiles func() Attachments // makes the store for the files of a body
}

// Read reads a body that is not plain JSON, whose bytes are charged to room as they come. What the request has of them
// is its Charged, also where it fails. Its files are its Attachments; after an error they are removed.
func (r *Reader) Read(in io.Reader, format Format, contentType string, room *Room) (req predict.Request, err error) {
	files := &Files{New: r.NewFiles}
	if format == MsgPack {
		req, err = r.readMsgPack(in, files, room)
	} else {
		var f Form
		if err = f.Read(in, contentType, files, room); err == nil {
			req, err = f.request()
		}
	}
	req.Charged = room.bytes
	switch {
	case err != nil:
		files.Close()
	case files.Attachments != nil:
		req.Attachments = files.Attachments
	}
	return req, err
}

// ReadStored reads a body that was stored as it came, for which charged bytes of the memory budget are charged already.
func (r *Reader) ReadStored(contentType string, body []byte, charged int64) (req predict.Request, err error) {
	room := Room{Budget: r.Memory, spare: charged}
	defer room.settle()
	format, known := FormatOf([]byte(contentType))
	switch {
	case !known:
		return req, &Error{"unsupported content type " + Show([]byte(contentType))}
	case format == JSON:
		room.use(int64(len(body)))
		err = ReadJSON(&req, body, contentType != "")
		req.Charged = room.bytes
		return req, err
	}
	return r.Read(bytes.NewReader(body), format, contentType, &room)
}

func (r *Reader) readMsgPack(in io.Reader, files *Files, room *Room) (req predict.Request, err error) {
	body, err := msgpack.ToJSON(in, msgpack.Options{
		Most: r.MaxBody,
		Bins: "input",
		Grow: func(n int) error { return room.grow(int64(n)) },
		Bin: func(dst []byte, from io.Reader) ([]byte, error) {
			n, err := files.add("", "", from)
			return predict.AppendPlaceholder(dst, n, ""), err
		},
	})
	var syntax *msgpack.SyntaxError
	switch {
	case errors.Is(err, msgpack.ErrTooLarge):
		return req, ErrTooLarge
	case errors.As(err, &syntax):
		return req, &Error{syntax.Error()}
	case err != nil:
		return req, err
	}
	err = readObject(&req, body, rawjson.Lists{})
	return req, err
}
