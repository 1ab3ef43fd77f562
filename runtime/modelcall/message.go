package modelcall

import (
	"bytes"
	"errors"
	"path/filepath"
	"strconv"

	"pinion/ipc"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/service"
	"pinion/runtime/trace"
)

// message is what a worker asks for.
type message struct {
	model   string
	stream  string // the streamed input, whose items follow; "" means that input has all
	input   []byte // with placeholders of files and tensors
	tensors []predict.Tensor
	files   paths
	parent  trace.Context // of the model's span; zero means there is none
}

// paths are files of the caller's machine, which is this one. They belong to the caller.
type paths []string

// Path implements predict.Attachments.
func (p paths) Path(number int) string {
	if number < 0 || number >= len(p) {
		return ""
	}
	return p[number]
}

// Close implements predict.Attachments.
func (paths) Close() {}

var errUnreadable = errors.New("the call cannot be read")

// parse reads the body of a Call frame.
func parse(body []byte) (message, error) {
	m, err := read(body)
	if err == nil && (m.model == "" || rawjson.KindOf(m.input) != rawjson.KindObject) {
		err = errUnreadable
	}
	return m, err
}

// read reads the body of a Call frame, or of an Item frame, whose input is the item.
func read(body []byte) (m message, err error) {
	json, tensors := service.WithoutTensors(body, nil)
	if tensors == nil && ipc.HasTensor(body) {
		return m, errUnreadable
	}
	m.tensors = tensors
	if rawjson.Check(predict.ShowPlaceholders(json)) != nil {
		return m, errUnreadable
	}
	var token, parent, state string
	for key, value := range rawjson.Members(json) {
		switch rawjson.KeyText(key) {
		case "model":
			m.model = rawjson.Text(value)
		case "stream":
			m.stream = rawjson.Text(value)
		case "input":
			m.input = value
		case "token":
			token = rawjson.Text(value)
		case "files":
			for _, path := range rawjson.Items(value) {
				m.files = append(m.files, rawjson.Text(path))
			}
		case "traceparent":
			parent = rawjson.Text(value)
		case "tracestate":
			state = rawjson.Text(value)
		}
	}
	m.parent, _ = trace.Parse(parent, state)
	m.input = withFiles(m.input, token, m.files)
	return m, nil
}

// withFiles replaces the mark of each file by its placeholder. The token is random, so that no other text is a mark.
func withFiles(input []byte, token string, files paths) []byte {
	if len(files) == 0 {
		return input
	}
	mark, out := []byte(`"pinion-file:`+token+`:`), []byte(nil)
	for {
		before, rest, found := bytes.Cut(input, mark)
		digits, after, closed := bytes.Cut(rest, []byte{'"'})
		number, err := strconv.Atoi(string(digits))
		if !found || !closed || err != nil {
			return append(out, input...)
		}
		out = predict.AppendPlaceholder(append(out, before...), number, filepath.Base(files.Path(number)))
		input = after
	}
}

// value returns the member "output" of an answer, in parts: with tensors in the places of their placeholders.
func value(json []byte, tensors []predict.Tensor) [][]byte {
	if tensors == nil {
		return [][]byte{json}
	}
	return service.WithTensors(json, tensors)
}

var (
	openOutput = []byte(`{"output":`)
	closeBrace = []byte(`}`)
)

// answerOf returns the body of an Output or Succeeded frame. It says where the files are, if the output has some.
func answerOf(folder predict.OutputFolder, output ...[]byte) [][]byte {
	parts := append([][]byte{openOutput}, output...)
	if folder.Token != "" {
		mark := []byte(`"pinion-file:` + folder.Token)
		for _, part := range output {
			if bytes.Contains(part, mark) {
				text := append([]byte(`,"files":`), ipc.FilesMember(folder.Path, folder.Token, false)...)
				return append(parts, text, closeBrace)
			}
		}
	}
	return append(parts, closeBrace)
}

// errorOf returns the body of a Failed frame.
func errorOf(text string) []byte {
	return append(rawjson.AppendQuoted([]byte(`{"error":`), text), '}')
}
