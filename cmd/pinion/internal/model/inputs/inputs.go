package inputs

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Flags are the ways to give an input on the command line.
type Flags struct {
	Pairs []string // name=value
	whole string   // a JSON object, @file or -
	IsSet bool     // whole was given
	// Streams has Read open the file of a streamed input; else it is a value like others.
	Streams bool
	Items   *Items // of that input, which Read then leaves out; nil means that there are none
}

func (i *Flags) BindFlags(f *pflag.FlagSet) {
	f.StringArrayVarP(&i.Pairs, "input", "i", nil, "an input, as name=value or name=@file; repeat a name for a list")
	f.StringVar(&i.whole, "json", "",
		"the whole input: a JSON object, @file, or - for stdin; the answer is then the whole prediction as JSON")
}

// Read returns the input as a JSON object, checked against the model's schema.
func (i *Flags) Read(f *Fields, stdin io.Reader) ([]byte, error) {
	input, err := i.read(f, stdin)
	if err != nil {
		return nil, &Error{err}
	}
	return input, nil
}

func (i *Flags) read(f *Fields, stdin io.Reader) ([]byte, error) {
	var input []byte
	var err error
	if i.IsSet {
		if len(i.Pairs) > 0 {
			return nil, errors.New("give the input by --json or by -i, not by both")
		}
		input, err = readWhole(i.whole, stdin)
	} else {
		input, err = i.readPairs(f, stdin)
	}
	if err == nil {
		err = f.check(input, i.Items != nil)
	}
	return input, err
}

// ReadOrSample is Read, but returns a sample of the model's input if the flags give none.
func (i *Flags) ReadOrSample(f *Fields, stdin io.Reader) ([]byte, error) {
	if len(i.Pairs) > 0 || i.IsSet {
		return i.Read(f, stdin)
	}
	input, err := f.Sample()
	if err != nil {
		return nil, &Error{err}
	}
	return input, nil
}

// Error is the error of an input that the model does not take.
type Error struct{ reason error }

func (e *Error) Error() string { return e.reason.Error() }

func (e *Error) Unwrap() error { return e.reason }

// IsMisuse says to the exit code that the command line is wrong.
func (e *Error) IsMisuse() bool { return true }

func readWhole(value string, stdin io.Reader) ([]byte, error) {
	data, from, err := []byte(value), "", error(nil)
	switch {
	case value == "-" || value == "@-":
		from = "stdin"
		data, err = usertext.ReadFrom(stdin, usertext.MaxInput)
	case strings.HasPrefix(value, "@"):
		from = value[1:]
		data, err = usertext.ReadFile(from, usertext.MaxInput)
	}
	if err != nil {
		return nil, fmt.Errorf("--json: %w", err)
	}
	data = bytes.TrimSpace(data)
	if err = rawjson.Check(data); err == nil && rawjson.KindOf(data) != rawjson.KindObject {
		err = fmt.Errorf("must be a JSON object, got %s", rawjson.KindOf(data))
	}
	if err != nil && from != "" {
		return nil, fmt.Errorf("--json: %s: %w", from, err)
	}
	if err != nil {
		return nil, fmt.Errorf("--json: %w", err)
	}
	return data, nil
}

// readPairs makes a JSON object of name=value pairs, each value in the type that the schema gives its name.
func (i *Flags) readPairs(f *Fields, stdin io.Reader) ([]byte, error) {
	values := map[string][]string{}
	var names []string
	for _, pair := range i.Pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("-i %s: write it as name=value, or name=@file", pair)
		}
		if values[name] == nil {
			names = append(names, name)
		}
		values[name] = append(values[name], value)
	}
	input := []byte{'{'}
	for _, name := range names {
		if f.named[name] == nil && !f.open {
			return nil, f.unknown(name)
		}
		if file, ok := strings.CutPrefix(values[name][0], "@"); ok && i.Streams && len(values[name]) == 1 && f.isStreamed(name) {
			var err error
			if i.Items, err = f.openItems(name, file, stdin); err != nil {
				return nil, fmt.Errorf("input %q: %w", name, err)
			}
			continue
		}
		value, err := f.value(f.named[name], values[name], stdin)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", name, err)
		}
		input = rawjson.Comma(input, len(input) > 1)
		input = append(rawjson.AppendQuoted(input, name), ':')
		input = append(input, value...)
	}
	return append(input, '}'), nil
}

// value makes JSON of what was given for one input.
func (f *Fields) value(s *shape, given []string, stdin io.Reader) ([]byte, error) {
	s = f.resolve(s)
	list := s
	for _, option := range s.AnyOf {
		if option = f.resolve(option); option.Type == "array" && len(given) > 1 {
			list = option
		}
	}
	if list.Type != "array" {
		if len(given) > 1 {
			return nil, fmt.Errorf("given %d times, takes one value", len(given))
		}
		return f.single(s, given[0], stdin)
	}
	if len(given) == 1 {
		return f.list(f.resolve(list.Items), given[0], stdin)
	}
	items := f.resolve(list.Items)
	out := []byte{'['}
	for n, text := range given {
		item, err := f.single(items, text, stdin)
		if err != nil {
			return nil, err
		}
		out = rawjson.Comma(out, n > 0)
		out = append(out, item...)
	}
	return append(out, ']'), nil
}

// list makes a list of what was given once: JSON of the whole list, in a file or not, or its only item.
func (f *Fields) list(item *shape, text string, stdin io.Reader) ([]byte, error) {
	content, err := text, error(nil)
	if !item.isFile() {
		if content, err = expand(item, text, stdin); err != nil {
			return nil, err
		}
	}
	if whole := strings.TrimSpace(content); strings.HasPrefix(whole, "[") && isJSON(whole) {
		return []byte(whole), nil
	}
	if !item.isFile() {
		return fmt.Appendf(nil, "[%s]", f.typed(item, content)), nil
	}
	value, err := f.single(item, text, stdin)
	return fmt.Appendf(nil, "[%s]", value), err
}

// single makes JSON of one value.
func (f *Fields) single(s *shape, text string, stdin io.Reader) ([]byte, error) {
	if name, ok := strings.CutPrefix(text, "@"); ok && s.isFile() {
		data, err := readNamed(name, stdin)
		return appendDataURL(nil, name, data), err
	}
	text, err := expand(s, text, stdin)
	return f.typed(s, text), err
}

// expand returns the text itself, or the content of the file that it names.
func expand(s *shape, text string, stdin io.Reader) (string, error) {
	name, ok := strings.CutPrefix(text, "@")
	if !ok {
		return text, nil
	}
	data, err := readNamed(name, stdin)
	if text = string(data); s.Type != "string" {
		text = strings.TrimSpace(text)
	}
	return text, err
}

// typed makes JSON of a text. What does not fit its type becomes a string, which the check then refuses in the words
// that a server has for it.
func (f *Fields) typed(s *shape, text string) []byte {
	quoted := rawjson.AppendQuoted(nil, text)
	if s.Type == "string" {
		return quoted
	}
	if s.Type == "boolean" {
		if low := strings.ToLower(text); low == "true" || low == "false" {
			return []byte(low)
		}
	}
	types := []string{s.Type}
	if s.Type == "" && len(s.AnyOf) > 0 {
		types = nil
		for _, option := range s.AnyOf {
			types = append(types, f.resolve(option).Type)
		}
	}
	if isJSON(text) && (s.Type == "" || !slices.Contains(types, "string")) || fitsOne(types, text) {
		return []byte(text)
	}
	return quoted
}

// fitsOne reports whether text is JSON of one of the types other than string: `-i x=3` of an input that is int
// or str is the int.
func fitsOne(types []string, text string) bool {
	if !isJSON(text) {
		return false
	}
	kinds := map[rawjson.Kind][]string{
		rawjson.KindNumber: {"integer", "number"}, rawjson.KindBool: {"boolean"},
		rawjson.KindArray: {"array"}, rawjson.KindObject: {"object"},
	}
	return slices.ContainsFunc(kinds[rawjson.KindOf([]byte(text))],
		func(t string) bool { return slices.Contains(types, t) })
}

func isJSON(text string) bool {
	return text != "" && strings.TrimSpace(text) == text && rawjson.Check([]byte(text)) == nil
}

// stdinName is the name of a file that stands for stdin.
const stdinName = "-"

func readNamed(name string, stdin io.Reader) ([]byte, error) {
	if name == stdinName {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}

// appendDataURL appends a file as a data URL with the file's name, in quotes. What comes from stdin ("-") has no name.
func appendDataURL(dst []byte, name string, data []byte) []byte {
	extension := filepath.Ext(name)
	kind := mime.TypeByExtension(extension)
	switch {
	case kind != "":
	case name != stdinName && extension == "": // a type would become the name's extension
		kind = "application/unknown"
	default:
		kind = http.DetectContentType(data)
	}
	kind = strings.ReplaceAll(kind, " ", "")
	dst = append(dst, `"data:`...)
	dst = append(dst, kind...)
	if name != stdinName {
		dst = append(dst, ";name="...)
		dst = append(dst, strings.ReplaceAll(url.QueryEscape(filepath.Base(name)), "+", "%20")...)
	}
	dst = append(dst, ";base64,"...)
	return append(base64.StdEncoding.AppendEncode(dst, data), '"')
}

// check says what is wrong with an input, in the words of the command line; nil if nothing is. streamed means that its
// streamed input comes later.
func (f *Fields) check(input []byte, streamed bool) error {
	for key := range rawjson.Members(input) {
		if name := rawjson.KeyText(key); f.named[name] == nil && !f.open {
			return f.unknown(name)
		}
	}
	compiled := f.compiled
	if streamed {
		compiled = compiled.Stream().Others
	}
	_, err := compiled.Prepare(input)
	var invalid *predict.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	errs := make([]error, len(invalid.Problems))
	for i, p := range invalid.Problems {
		name := p.Loc[len(p.Loc)-1]
		switch p.Type {
		case predict.TypeMissing:
			errs[i] = fmt.Errorf("missing required input %s", strconv.Quote(name))
		default:
			errs[i] = fmt.Errorf("input %s: %s", strconv.Quote(name), p.Msg+f.fileHelp(name, p.Msg))
		}
	}
	return errors.Join(errs...)
}

// fileHelp says what to write if a file's name was given and its content was meant.
func (f *Fields) fileHelp(name, message string) string {
	field, _, _ := strings.Cut(name, "/")
	s := f.resolve(f.named[field])
	if s.Type == "array" {
		s = f.resolve(s.Items)
	}
	text, _, ok := strings.Cut(strings.TrimPrefix(message, `"`), `"`)
	if !s.isFile() || !ok {
		return ""
	}
	if _, err := os.Stat(text); err != nil {
		return ""
	}
	return fmt.Sprintf("; for the file of that name write %s=@%s", field, text)
}

func (f *Fields) unknown(name string) error {
	if len(f.Order) == 0 {
		return fmt.Errorf("unknown input %q; the model has no inputs", name)
	}
	return fmt.Errorf("unknown input %q; valid inputs are: %s", name, strings.Join(f.Order, ", "))
}
