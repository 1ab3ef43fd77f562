package request

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"unicode/utf8"

	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// maxParts bounds how many parts a form may have.
const maxParts = 10_000

// Form is the content of a multipart/form-data body (RFC 7578).
type Form struct {
	Plain    bool // no part is a key of the request
	envelope envelope
	events   [][]byte // the names in webhook_events_filter, if its parts are not JSON
	Fields   []predict.FormField
}

// request returns the create request of a form. A part is an input, or a key of the request, by its name. A part
// "input" of a JSON type has the remaining inputs.
func (f *Form) request() (req predict.Request, err error) {
	if f.events != nil {
		f.envelope.webhookEvents = append(append([]byte{'['}, bytes.Join(f.events, []byte{','})...), ']')
	}
	req.Form = f.Fields
	err = f.envelope.fill(&req, rawjson.Lists{})
	return req, err
}

// Read reads a form of that Content-Type. Files go to files as they arrive.
func (f *Form) Read(in io.Reader, contentType string, files *Files, room *Room) error {
	_, params, err := mime.ParseMediaType(contentType)
	boundary := params["boundary"]
	if err != nil || boundary == "" || len(boundary) > 70 { // RFC 2046, section 5.1.1
		return &Error{"The Content-Type multipart/form-data lacks its boundary parameter, or it cannot be read"}
	}
	// The reader accepts the end of the body as the end of the form, even inside a part's header. So it gets another
	// error there, after a line end, which clients may omit after the last boundary.
	parts := multipart.NewReader(io.MultiReader(in, strings.NewReader("\r\n"), cutOff{}), boundary)
	for n := 0; ; n++ {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			break
		}
		if err == nil && n == maxParts {
			err = fmt.Errorf("it has more than %d parts", maxParts)
		}
		if err != nil {
			return badForm(err)
		}
		if err := f.add(part, files, room); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	return room.grow(room.bytes) // for the input made of the fields
}

// cutOff is the error that follows the end of a body.
type cutOff struct{}

func (cutOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func badForm(err error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "multipart: "), "NextPart: ")
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		text = "it ends too early"
	}
	return &Error{"invalid multipart/form-data: " + logtext.Clip(text)}
}

func (f *Form) add(part *multipart.Part, files *Files, room *Room) error {
	_, disposition, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	name := disposition["name"]
	if err != nil || name == "" || !utf8.ValidString(name) {
		return &Error{"invalid multipart/form-data: a part has no name, or its Content-Disposition cannot be read"}
	}
	kind := part.Header.Get("Content-Type")
	media, _, _ := strings.Cut(strings.ToLower(kind), ";")
	media = strings.TrimSpace(media)
	inJSON := kind != "" && IsJSON([]byte(kind))
	fileName, isFile := disposition["filename"]
	if isFile || kind != "" && !inJSON && !strings.HasPrefix(media, "text/") {
		if !inJSON || !f.isKey(name) {
			return f.addFile(part, name, fileName, media, files)
		}
	}
	text, err := room.ReadAll(part)
	var full *RoomError
	switch {
	case errors.As(err, &full):
		return err
	case err != nil:
		return badForm(err)
	case !utf8.Valid(text):
		return &Error{"invalid multipart/form-data: the part " + Show([]byte(name)) +
			" is not UTF-8; give it a file name if it is a file"}
	case inJSON:
		if err := checkPart(name, text); err != nil {
			return err
		}
	}
	if f.isKey(name) && (inJSON || name != "input") {
		return f.addKey(name, text, inJSON)
	}
	form := predict.FieldText
	if inJSON {
		form = predict.FieldJSON
	}
	f.Fields = append(f.Fields, predict.FormField{Name: name, Form: form, Value: text})
	return nil
}

// addFile reads a file. For an empty field, a browser sends a file without a name and content.
func (f *Form) addFile(part io.Reader, name, fileName, media string, files *Files) error {
	var first [1]byte
	n, err := io.ReadFull(part, first[:])
	switch {
	case err == io.EOF && fileName == "":
		return nil
	case err != nil && err != io.EOF:
		return badForm(err)
	}
	number, err := files.add(fileName, media, io.MultiReader(bytes.NewReader(first[:n]), part))
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = badForm(err)
		}
		return err
	}
	value := predict.AppendPlaceholder(nil, number, fileName)
	f.Fields = append(f.Fields, predict.FormField{Name: name, Form: predict.FieldFile, Value: value})
	return nil
}

// isKey reports whether a part's name is a key of a request.
func (f *Form) isKey(name string) bool {
	if f.Plain {
		return false
	}
	switch name {
	case "id", "input", "context", "created_at", "output_file_prefix", "webhook", "webhook_events_filter":
		return true
	}
	return false
}

// addKey reads a key of the request. An empty one counts as absent: forms send empty fields.
func (f *Form) addKey(name string, text []byte, inJSON bool) error {
	value := bytes.TrimSpace(text)
	switch {
	case len(value) == 0:
		return nil
	case name == "webhook_events_filter" && !inJSON && value[0] != '[':
		for event := range bytes.SplitSeq(value, []byte{','}) {
			f.events = append(f.events, rawjson.AppendQuotedBytes(nil, trim(event)))
		}
		return nil
	case name == "webhook_events_filter", name == "context":
		if err := checkPart(name, value); err != nil {
			return err
		}
	case name != "input" && !inJSON:
		value = rawjson.AppendQuotedBytes(nil, text)
	}
	f.envelope.set([]byte(name), value, 0)
	return nil
}

// checkPart requires a part to be JSON.
func checkPart(name string, text []byte) error {
	if err := rawjson.Check(text); err != nil {
		return &Error{"the part " + Show([]byte(name)) + ": " + err.Error()}
	}
	return nil
}
