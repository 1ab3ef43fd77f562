package inputs

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/files"
	"pinion/runtime/rawjson"
)

// Outputs writes what a prediction returned to where it belongs.
type Outputs struct {
	File   string // -o; "" means stdout, and output.<ext> for files; "-" means stdout, for files too
	Stdout io.Writer
	Stderr io.Writer
	// Terminal means that Stdout is a terminal, where every text ends its line.
	Terminal bool
}

// toStdout is the value of -o that prints a file's content.
const toStdout = "-"

// CheckFile reports whether an output could be written to -o. A prediction may take long, and its output would be lost.
func CheckFile(file string) error {
	if file == "" || file == toStdout {
		return nil
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return fmt.Errorf("-o %s is a folder; name a file in it", file)
	}
	folder := filepath.Dir(file)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("-o %s: folder %s does not exist", file, folder)
	}
	return nil
}

// Write writes an output; nothing is written for nil or null.
func (o *Outputs) Write(f *Fields, output []byte) error {
	if len(output) == 0 || rawjson.KindOf(output) == rawjson.KindNull {
		fmt.Fprintln(o.Stderr, "No output generated")
		return nil
	}
	items := f.resolve(f.output.Items)
	switch {
	case rawjson.KindOf(output) == rawjson.KindString:
		if _, _, ok := f.file(f.output, output); ok {
			return o.writeFile(output, -1)
		}
		return o.WriteText([]byte(rawjson.Text(output)))
	case f.output.Type == "array" && items.isFile() && rawjson.KindOf(output) == rawjson.KindArray:
		return o.writeFiles(output)
	}
	return o.writeTree(f, output)
}

// WriteJSON writes a value, indented by two.
func (o *Outputs) WriteJSON(value []byte) error {
	var b bytes.Buffer
	if err := PrintJSON(&b, value); err != nil {
		return err
	}
	return o.WriteText(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// WriteText writes a text: to a file as it is, and to stdout as a line.
func (o *Outputs) WriteText(text []byte) error {
	if o.File != "" && o.File != toStdout {
		return o.save(o.File, text)
	}
	_, err := o.Stdout.Write(append(text, '\n'))
	return err
}

// writeFiles writes a list of files; an item that is not a file, such as a URL, is printed.
func (o *Outputs) writeFiles(list []byte) error {
	for i, item := range rawjson.Items(list) {
		var err error
		if isDataURL(item) {
			err = o.writeFile(item, i)
		} else if _, err = o.Stdout.Write(item); err == nil {
			_, err = io.WriteString(o.Stdout, "\n")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes one file; i is its place in a list, or -1.
func (o *Outputs) writeFile(item []byte, i int) error {
	kind, data, err := decodeDataURL(rawjson.Text(item))
	if err != nil {
		return fmt.Errorf("read output file: %w", err)
	}
	if o.File == toStdout {
		if o.Terminal && utf8.Valid(data) && !bytes.HasSuffix(data, []byte("\n")) {
			data = append(data, '\n') // or the shell's prompt follows the text
		}
		_, err := o.Stdout.Write(data)
		return err
	}
	stem, ext := "output", extension(kind, data)
	if o.File != "" {
		if i < 0 {
			return o.save(o.File, data)
		}
		if given := filepath.Ext(o.File); given != "" {
			ext = given
		}
		stem = strings.TrimSuffix(o.File, filepath.Ext(o.File))
	}
	if i >= 0 {
		stem += "." + strconv.Itoa(i)
	}
	name := stem + ext // which the user has not named
	return o.saved(name, usertext.WriteFiles(filepath.Dir(name), map[string][]byte{filepath.Base(name): data}))
}

func (o *Outputs) save(name string, data []byte) error {
	return o.saved(name, os.WriteFile(name, data, 0o644))
}

func (o *Outputs) saved(name string, err error) error {
	if err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	fmt.Fprintln(o.Stderr, "Written output to: "+name)
	return nil
}

func isDataURL(value []byte) bool {
	return rawjson.KindOf(value) == rawjson.KindString && bytes.HasPrefix(value, []byte(`"data:`))
}

// decodeDataURL returns what a data URL holds, and its media type (RFC 2397).
func decodeDataURL(text string) (kind string, data []byte, err error) {
	head, body, ok := strings.Cut(strings.TrimPrefix(text, "data:"), ",")
	if !ok {
		return "", nil, fmt.Errorf("invalid data URL %.40q", text)
	}
	kind, isBase64 := strings.CutSuffix(head, ";base64")
	kind, _, _ = strings.Cut(kind, ";")
	if isBase64 {
		data, err = base64.StdEncoding.DecodeString(body)
		return kind, data, err
	}
	plain, err := url.PathUnescape(body)
	return kind, []byte(plain), err
}

// extension returns the ending of a file's name: by its media type, else by its first bytes.
func extension(kind string, data []byte) string {
	const unknown = ".bin"
	if ext := files.TypeExtension(kind); ext != "" && ext != unknown {
		return ext
	}
	found, _, _ := strings.Cut(http.DetectContentType(data), ";")
	if ext := files.TypeExtension(found); ext != "" && found != "text/plain" {
		return ext
	}
	return unknown
}

// PrintValue writes a value as JSON, indented by two.
func PrintValue(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return PrintJSON(w, text)
}

// PrintJSON writes a document indented by two.
func PrintJSON(w io.Writer, document []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, document, "", "  "); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}
