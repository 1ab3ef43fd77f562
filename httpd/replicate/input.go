package replicate

import (
	"bytes"
	"strings"

	"pinion/httpd/protocol"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// attach replaces the links of uploaded files in the inputs that are files by the files themselves, so that the server
// need not download from itself. The prediction's call gets the new input and the files, if there are any.
func (h *handlers) attach(x *protocol.Exchange, m *protocol.Model, body *protocol.Body, input []byte,
	call *protocol.JobCall,
) *protocol.Error {
	if rawjson.KindOf(input) != rawjson.KindObject || !bytes.Contains(input, []byte(filePath)) {
		return nil
	}
	signature, err := m.Signature()
	if err != nil {
		return err
	}
	if err := x.Charge(body, int64(len(input))); err != nil {
		return err
	}
	r := &linkReplacer{h: h, x: x, to: &attached{of: &h.uploads}, address: x.Jobs().Address(x.RequestCtx)}
	dst := []byte{'{'}
	for key, value := range rawjson.Members(input) {
		dst = rawjson.Comma(dst, len(dst) > 1)
		dst = append(append(append(dst, '"'), key...), `":`...)
		field := signature.Input(rawjson.Name(key))
		switch {
		case field == nil:
			dst = append(dst, value...)
		case field.Value.Kind == protocol.File:
			dst = r.append(dst, value)
		case field.Value.Kind == protocol.List && field.Value.Item != nil && field.Value.Item.Kind == protocol.File:
			dst = r.appendList(dst, value)
		default:
			dst = append(dst, value...)
		}
	}
	if len(r.to.files) > 0 {
		call.Input, call.Attachments = append(dst, '}'), r.to
	}
	return nil
}

// linkReplacer replaces links of uploaded files.
type linkReplacer struct {
	h       *handlers
	x       *protocol.Exchange
	to      *attached
	address string
}

func (r *linkReplacer) appendList(dst, list []byte) []byte {
	if rawjson.KindOf(list) != rawjson.KindArray {
		return append(dst, list...)
	}
	dst = append(dst, '[')
	for i, item := range rawjson.Items(list) {
		dst = rawjson.Comma(dst, i > 0)
		dst = r.append(dst, item)
	}
	return append(dst, ']')
}

// append appends the placeholder of a link's file, or a value as it is.
func (r *linkReplacer) append(dst, value []byte) []byte {
	if len(r.to.files) >= maxUploads || rawjson.KindOf(value) != rawjson.KindString || len(value) > maxReference {
		return append(dst, value...)
	}
	u := r.uploadOf(rawjson.Text(value))
	if u == nil {
		return append(dst, value...)
	}
	r.to.files = append(r.to.files, u)
	return predict.AppendPlaceholder(dst, len(r.to.files)-1, u.name)
}

// uploadOf returns the file that a link of this server leads to; nil means it leads to none.
func (r *linkReplacer) uploadOf(link string) *upload {
	path, ok := strings.CutPrefix(link, r.address)
	if !ok {
		return nil
	}
	plain, _, _ := strings.Cut(path, "?")
	rest, ok := strings.CutPrefix(plain, filePath)
	if !ok || signed(r.x.Jobs(), plain) != path {
		return nil
	}
	id, _, _ := strings.Cut(rest, "/")
	return r.h.uploads.use(id)
}

// signed returns a path with its signature, so that it needs no token.
func signed(jobs protocol.Jobs, path string) string {
	if signature := jobs.Signature(path); signature != "" {
		return path + "?signature=" + signature
	}
	return path
}
