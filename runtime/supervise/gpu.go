package supervise

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"

	"github.com/bytedance/sonic"
)

//go:embed gpu_signs.tsv
var gpuSignText string // says itself what it holds and where that is from

const lostGPU = "its GPU context is lost, and every later prediction would fail: "

// gpuError is an error after which a CUDA context is of no use.
type gpuError struct {
	names [2]string
	text  string
}

// gpuLibrary is how a library words such an error.
type gpuLibrary struct {
	types []string // of its exceptions
	form  string
}

// gpuJudge tells by an error whether its process has lost its GPU context.
type gpuJudge struct {
	errors    []gpuError
	libraries []gpuLibrary
}

func newGPUJudge() *gpuJudge {
	j := &gpuJudge{}
	for line := range strings.Lines(gpuSignText) {
		switch f := strings.Split(strings.TrimSpace(line), "\t"); f[0] {
		case "error":
			j.errors = append(j.errors, gpuError{[2]string{f[2], f[3]}, f[4]})
		case "library":
			j.libraries = append(j.libraries, gpuLibrary{strings.Split(f[1], ","), f[2]})
		}
	}
	return j
}

// words are those by which such an error is known, in all of its forms.
func (j *gpuJudge) words() []string {
	var words []string
	for _, e := range j.errors {
		words = append(append(words, e.names[:]...), e.text)
	}
	return words
}

// fatal judges the body of a failure. It is strict about where the words stand, for an error may quote what
// a client sent, and no client may end a worker.
func (j *gpuJudge) fatal(body []byte) bool {
	_, rest, _ := bytes.Cut(body, []byte(`,"error":"`)) // quotes within the metrics before it are escaped
	if !slices.ContainsFunc([]string{"CU", "Cu", "cu"}, func(word string) bool { return bytes.Contains(rest, []byte(word)) }) {
		return false // most are not, and need not be decoded
	}
	kind, message, _ := strings.Cut(errorOf(body), ": ")
	kind = kind[strings.LastIndexByte(kind, '.')+1:]
	for _, l := range j.libraries {
		if slices.Contains(l.types, kind) && slices.ContainsFunc(j.errors, func(e gpuError) bool { return l.says(message, e) }) {
			return true
		}
	}
	return false
}

// says tells whether a message is the library's word for that error.
func (l gpuLibrary) says(message string, e gpuError) bool {
	return slices.ContainsFunc(e.names[:], func(name string) bool {
		form := strings.NewReplacer("{text}", e.text, "{name}", name).Replace(l.form)
		rest := message
		for i, part := range strings.Split(form, "*") {
			at := strings.Index(rest, part)
			if at < 0 || i == 0 && at > 0 {
				return false
			}
			rest = rest[at+len(part):]
		}
		return true
	})
}

// errorOf is the error's text in the body of a failure; the body as it is where it has none.
func errorOf(body []byte) string {
	var failure struct{ Error string }
	if err := sonic.Unmarshal(body, &failure); err != nil || failure.Error == "" {
		return string(body)
	}
	line, _, _ := strings.Cut(failure.Error, "\n")
	return line
}
