package predict

import (
	"bytes"
	"strconv"

	"pinion/runtime/rawjson"
)

// Attachments are the files that a request's body carried.
type Attachments interface {
	// Path returns the path of the file with that number, or "" if there is none.
	Path(number int) string
	// Close removes the files. It may be called any number of times, from any goroutine.
	Close()
}

// FieldForm is how the value of a form field is written.
type FieldForm uint8

const (
	FieldText FieldForm = iota // text, whose type the model's schema says
	FieldJSON                  // strictly valid JSON
	FieldFile                  // the placeholder of an attached file
)

// FormField is one field of a form. Fields of the same name are a list.
type FormField struct {
	Name  string
	Form  FieldForm
	Value []byte
}

// placeholderHead begins the placeholder of an attached file: a JSON string with a raw NUL, which valid JSON never has.
// So no client can forge one: rawjson.Check refuses the byte, and every text that becomes JSON is escaped.
const placeholderHead = "\"\x00"

// AppendPlaceholder appends the placeholder of the attached file with that number. It is not valid JSON, but rawjson's
// readers read it as a string.
func AppendPlaceholder(dst []byte, number int, name string) []byte {
	dst = append(dst, placeholderHead...)
	dst = strconv.AppendInt(dst, int64(number), 10)
	dst = append(dst, ':')
	from := len(dst)
	dst = rawjson.AppendQuoted(dst, name)
	return append(dst[:from], dst[from+1:]...) // drops its first quote
}

// ReadPlaceholder parses a placeholder; ok is false for every other value.
func ReadPlaceholder(raw []byte) (number int, name string, ok bool) {
	rest, ok := bytes.CutPrefix(raw, []byte(placeholderHead))
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

// CutPlaceholder splits input around its first placeholder of a file; false means there is none.
func CutPlaceholder(input []byte) (before, placeholder, after []byte, ok bool) {
	from := bytes.Index(input, []byte(placeholderHead))
	if from < 0 {
		return input, nil, nil, false
	}
	to := from + 2 // after the quote and the NUL
	for ; to < len(input) && input[to] != '"'; to++ {
		if input[to] == '\\' {
			to++
		}
	}
	to = min(to+1, len(input))
	return input[:from], input[from:to], input[to:], true
}

func IsPlaceholder(raw []byte) bool {
	return len(raw) > 1 && raw[1] == 0 && raw[0] == '"'
}

func CountPlaceholders(raw []byte) int { return bytes.Count(raw, []byte(placeholderHead)) }

// ShowPlaceholders replaces each placeholder by the name of its file, or the text of its tensor, so that input is valid
// JSON again. Without placeholders it returns input itself.
func ShowPlaceholders(input []byte) []byte {
	return showPlaceholders(showPlaceholders(input, placeholderHead), tensorHead)
}

func showPlaceholders(input []byte, head string) []byte {
	if bytes.IndexByte(input, head[1]) < 0 {
		return input
	}
	out := make([]byte, 0, len(input))
	for {
		at := bytes.Index(input, []byte(head))
		if at < 0 {
			return append(out, input...)
		}
		out = append(out, input[:at+1]...)
		input = input[at+len(head):]
		input = input[bytes.IndexByte(input, ':')+1:]
	}
}
