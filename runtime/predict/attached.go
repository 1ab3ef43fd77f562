package predict

import (
	"bytes"
	"io"
	"strconv"

	"pinion/runtime/rawjson"
)

// Inbox takes in the files that come in a request's own body, before there is a prediction. Only the
// goroutine that reads the body calls Add; whoever has the Inbox last calls Close.
type Inbox interface {
	Attachments
	// Add writes what from holds to disk and returns the file's number. name is the file's as its client
	// wrote it, and mediaType says what is in it; either may be "". The error is that of from, or
	// a *FileLimitError, or one of the disk.
	Add(name, mediaType string, from io.Reader) (int, error)
}

// Attachments are the files that came in a request's own body.
type Attachments interface {
	// Path is where the file of that number lies; "": there is no such file.
	Path(number int) string
	// Close removes the files. It may be called any number of times, from any goroutine.
	Close()
}

// FieldForm is how the value of a form's field is written.
type FieldForm uint8

const (
	FieldText FieldForm = iota // as text, to be read by the type that the model's schema says
	FieldJSON                  // as JSON, strictly valid
	FieldFile                  // as the stand-in of an attached file
)

// FormField is one field of a form. Several of one name are a list.
type FormField struct {
	Name  string
	Form  FieldForm
	Value []byte
}

// standInHead begins the stand-in of an attached file: a JSON string but for this raw NUL, which no strictly
// valid JSON has. So no client can write a stand-in, whatever it knows: rawjson.Check refuses it, and every
// text that becomes JSON is escaped on the way.
const standInHead = "\"\x00"

// AppendStandIn appends what stands in an input for the attached file of that number. It is no valid JSON, but
// rawjson's readers take it for a string.
func AppendStandIn(dst []byte, number int, name string) []byte {
	dst = append(dst, standInHead...)
	dst = strconv.AppendInt(dst, int64(number), 10)
	dst = append(dst, ':')
	from := len(dst)
	dst = rawjson.AppendQuoted(dst, name)
	return append(dst[:from], dst[from+1:]...) // without its first quote
}

// ReadStandIn reads one; ok is false for every other value.
func ReadStandIn(raw []byte) (number int, name string, ok bool) {
	rest, ok := bytes.CutPrefix(raw, []byte(standInHead))
	if !ok {
		return 0, "", false
	}
	digits, quoted, ok := bytes.Cut(rest, []byte{':'})
	if !ok || len(quoted) == 0 {
		return 0, "", false
	}
	number, err := strconv.Atoi(string(digits))
	return number, rawjson.KeyText(quoted[:len(quoted)-1]), err == nil
}

// IsStandIn tells whether raw is one.
func IsStandIn(raw []byte) bool {
	return len(raw) > 1 && raw[1] == 0 && raw[0] == '"'
}

// CountStandIns is how many stand in raw.
func CountStandIns(raw []byte) int { return bytes.Count(raw, []byte(standInHead)) }

// ShowStandIns is input with the name of each attached file in place of its stand-in, so that it is valid JSON
// again; input itself where it has none.
func ShowStandIns(input []byte) []byte {
	if bytes.IndexByte(input, 0) < 0 {
		return input
	}
	out := make([]byte, 0, len(input))
	for {
		at := bytes.Index(input, []byte(standInHead))
		if at < 0 {
			return append(out, input...)
		}
		out = append(out, input[:at+1]...)
		input = input[at+len(standInHead):]
		input = input[bytes.IndexByte(input, ':')+1:]
	}
}
