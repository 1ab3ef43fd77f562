package request

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

const mib = 1 << 20

// filesInMemory keeps the files of a body, and fails if it is used after Close.
type filesInMemory struct {
	t      *testing.T
	files  []string
	closed bool
}

func (f *filesInMemory) Add(_, _ string, from io.Reader) (int, error) {
	assert.False(f.t, f.closed, "a file came after Close")
	content, err := io.ReadAll(from)
	f.files = append(f.files, string(content))
	return len(f.files) - 1, err
}

func (f *filesInMemory) Path(number int) string { return f.files[number] }

func (f *filesInMemory) Close() { f.closed = true }

func stored(t *testing.T, budget *memory.Budget) (*Reader, *filesInMemory) {
	files := &filesInMemory{t: t}
	return &Reader{Memory: budget, MaxBody: 4 * mib, NewFiles: func() Attachments { return files }}, files
}

const formType = "multipart/form-data; boundary=B"

func formBody(parts ...string) string {
	var b strings.Builder
	for i := 0; i < len(parts); i += 2 {
		b.WriteString("--B\r\nContent-Disposition: form-data; " + parts[i] + "\r\n\r\n" + parts[i+1] + "\r\n")
	}
	return b.String() + "--B--\r\n"
}

func TestReadStored_EachFormat(t *testing.T) {
	for name, c := range map[string]struct {
		contentType, body, input string
		field                    predict.FormField
		file                     string
	}{
		"no type":     {"", ``, `{}`, predict.FormField{}, ""},
		"JSON":        {"application/json; charset=utf-8", `{"input":{"a":1}}`, `{"a":1}`, predict.FormField{}, ""},
		"MessagePack": {"application/msgpack", "\x81\xa5input\x81\xa1a\x01", `{"a":1}`, predict.FormField{}, ""},
		"bytes": {
			"application/x-msgpack", "\x81\xa5input\x81\xa1f\xc4\x03abc",
			string(append(predict.AppendPlaceholder([]byte(`{"f":`), 0, ""), '}')),
			predict.FormField{},
			"abc",
		},
		"form": {
			formType, formBody(`name="a"`, "x"), `{}`,
			predict.FormField{Name: "a", Form: predict.FieldText, Value: []byte("x")},
			"",
		},
		"file": {
			formType, formBody(`name="f"; filename="n.txt"`, "abc"), `{}`,
			predict.FormField{Name: "f", Form: predict.FieldFile, Value: predict.AppendPlaceholder(nil, 0, "n.txt")},
			"abc",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, files := stored(t, memory.New(64*mib))
			req := assert.Must(r.ReadStored(c.contentType, []byte(c.body), 0))(t)
			assert.EqualNow(t, "input", string(req.Input), c.input)
			var got predict.FormField
			if len(req.Form) > 0 {
				got = req.Form[0]
			}
			assert.True(t, got.Name == c.field.Name && got.Form == c.field.Form && string(got.Value) == string(c.field.Value),
				"got the field %+v, want %+v", got, c.field)
			if file := strings.Join(files.files, ","); file != c.file || (req.Attachments != nil) != (c.file != "") {
				t.Errorf("got the files %q and Attachments %v, want %q", file, req.Attachments, c.file)
			}
		})
	}
}

func TestReadStored_Refuses(t *testing.T) {
	var broken *Error
	var invalid *predict.ValidationError
	for name, c := range map[string]struct {
		contentType, body string
		want              any
	}{
		"empty JSON":         {"application/json", "", nil},
		"another type":       {"text/csv", "a,b", &broken},
		"truncated pack":     {"application/msgpack", "\x81\xa5input\x81\xa1f\xc4\x03ab", &broken},
		"form without end":   {formType, strings.TrimSuffix(formBody(`name="a"`, "x"), "--B--\r\n"), &broken},
		"form, no boundary":  {"multipart/form-data", "x", &broken},
		"wrong kind of id":   {"application/json", `{"id":7}`, &invalid},
		"a file, then a bad": {formType, formBody(`name="f"; filename="n"`, "abc", `name="context"`, "{"), &broken},
	} {
		t.Run(name, func(t *testing.T) {
			r, files := stored(t, memory.New(64*mib))
			req, err := r.ReadStored(c.contentType, []byte(c.body), 0)
			switch {
			case err == nil:
				t.Fatalf("got %+v, want an error", req)
			case c.want == nil && !errors.Is(err, ErrEmpty), c.want != nil && !errors.As(err, c.want):
				t.Errorf("got %T: %v, want an error of type %T", err, err, c.want)
			}
			assert.True(t, req.Attachments == nil && (len(files.files) == 0 || files.closed),
				"got Attachments %v, closed %v: files are left, want Attachments nil and len(files) empty", req.Attachments, files.closed)
		})
	}
}

// TestReadStored_Charges: what was charged is the request's, or is free again.
func TestReadStored_Charges(t *testing.T) {
	text := strings.Repeat("x", mib)
	for name, c := range map[string]struct{ contentType, body string }{
		"JSON":        {"application/json", `{"input":{"s":"` + text + `"}}`},
		"MessagePack": {"application/msgpack", "\x81\xa5input\x81\xa1s\xdb\x00\x10\x00\x00" + text},
		"form":        {formType, formBody(`name="s"`, text)},
		"broken":      {"application/json", `{"input":{"s":"` + text},
	} {
		t.Run(name, func(t *testing.T) {
			budget := memory.New(64 * mib)
			charged := int64(len(c.body))
			assert.TrueNow(t, budget.Take(charged, charged), "there is no room")
			r, _ := stored(t, budget)
			req, err := r.ReadStored(c.contentType, []byte(c.body), charged)
			assert.EqualNow(t, fmt.Sprintf("%v", err), err != nil, name == "broken")
			if used := budget.Stats().Used; used != req.Charged || err == nil && used < mib {
				t.Errorf("got %d bytes in use and %d of the request, want the same, and at least the text", used, req.Charged)
			}
			budget.Free(req.Charged)
		})
	}
}

func TestRead_BudgetIsFull(t *testing.T) {
	budget := memory.New(16 * mib)
	assert.TrueNow(t, budget.Take(13*mib, 13*mib), "there is no room")
	r, _ := stored(t, budget)
	room := &Room{Budget: budget}
	body := formBody(`name="s"`, strings.Repeat("x", 3*mib))
	req, err := r.Read(strings.NewReader(body), FormData, formType, room)
	var full *RoomError
	assert.True(t, errors.As(err, &full) && errors.Is(err, memory.ErrFull), "got %v, want a *RoomError", err)
	budget.Free(req.Charged)
	assert.Equal(t, "bytes in use", budget.Stats().Used, 13*mib)
}

func TestRead_LargerAsJSON(t *testing.T) {
	r, _ := stored(t, nil)
	// Each byte 0 of a text is six as JSON.
	body := "\x81\xa5input\x81\xa1s\xdb\x00\x10\x00\x00" + strings.Repeat("\x00", mib)
	_, err := r.Read(strings.NewReader(body), MsgPack, TypeMsgPack, &Room{})
	assert.True(t, errors.Is(err, ErrTooLarge), "got %v, want %v", err, ErrTooLarge)
}
