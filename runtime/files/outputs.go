package files

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Outputs are the output files of a prediction that its client receives as they are. The worker writes them like those
// of Uploads.
type Outputs struct{ outFolder }

// NewOutputs makes the folder for the output files of the prediction with that id; Close removes it. The error is
// ErrClosed or one of the file system.
func (s *Store) NewOutputs(id string) (*Outputs, error) {
	folder, err := s.newOutFolder(id)
	if err != nil {
		return nil, err
	}
	return &Outputs{folder}, nil
}

// Folder returns where the worker writes the files.
func (o *Outputs) Folder() string { return o.path }

// Token returns 32 hexadecimal digits.
func (o *Outputs) Token() string { return o.token }

// Close removes the files. It may be called any number of times.
func (o *Outputs) Close() { o.remove() }

// Only opens the file of an output that is one file, or a list of one file. It returns nil for any other output. The
// caller calls done after its last read.
func (o *Outputs) Only(output []byte) (only *predict.OutputFile, done func()) {
	marks := findMarks(output, o.mark)
	if len(marks) != 1 {
		return nil, nil
	}
	around := string(output[:marks[0].start]) + string(output[marks[0].end:])
	listed := len(around) < 64 && rawjson.KindOf(output) == rawjson.KindArray && strings.Trim(around, "[] \t\r\n") == "" &&
		strings.Count(around, "[") == 1
	if !listed && strings.TrimSpace(around) != "" {
		return nil, nil
	}
	file, err := o.open(marks[0].file)
	if err != nil {
		return nil, nil
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, nil
	}
	name := filepath.Base(marks[0].file)
	return &predict.OutputFile{
		Content: file, Name: name, Type: typeOf(name, file), Size: info.Size(), Listed: listed,
	}, func() { _ = file.Close() }
}

// Inline returns output with a data URL instead of each file. It calls room for the memory of each, in bytes; if that
// returns false, the error is ErrNoRoom.
func (o *Outputs) Inline(output []byte, room func(bytes int) bool) ([]byte, error) {
	marks := findMarks(output, o.mark)
	if len(marks) == 0 {
		return output, nil
	}
	var out []byte
	from := 0
	for _, m := range marks {
		out = append(out, output[from:m.start]...)
		file, err := o.open(m.file)
		if err != nil {
			return nil, fmt.Errorf("read output file %s: %w", strconv.Quote(logtext.Clip(m.file)), diskError(err))
		}
		if info, err := file.Stat(); err == nil && !room(3*int(info.Size())) { // the content and its text
			file.Close()
			return nil, ErrNoRoom
		}
		content, err := io.ReadAll(file)
		kind := typeOf(filepath.Base(m.file), file)
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("read output file %s: %w", strconv.Quote(logtext.Clip(m.file)), diskError(err))
		}
		out = appendDataURL(out, kind, content)
		from = m.end
	}
	return append(out, output[from:]...), nil
}

func appendDataURL(dst []byte, mediaType string, content []byte) []byte {
	dst = append(append(append(dst, `"data:`...), mediaType...), ";base64,"...)
	return append(base64.StdEncoding.AppendEncode(dst, content), '"')
}
