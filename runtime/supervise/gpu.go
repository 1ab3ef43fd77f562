package supervise

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"

	"pinion/ipc"
)

//go:embed gpu_signs.tsv
var gpuSignText string // the file says what it holds and where that is from

const lostGPU = "its GPU context is lost, and every later prediction would fail: "

// gpuError is an error after which a CUDA context cannot be used.
type gpuError struct {
	names [2]string
	text  string
}

// gpuLibrary is how a library reports such an error.
type gpuLibrary struct {
	types []string // of its exceptions
	form  string
}

// gpuErrors recognises the errors of a process that has lost its GPU context.
type gpuErrors struct {
	errors    []gpuError
	libraries []gpuLibrary
}

func newGPUErrors() *gpuErrors {
	g := &gpuErrors{}
	for line := range strings.Lines(gpuSignText) {
		switch f := strings.Split(strings.TrimSpace(line), "\t"); f[0] {
		case "error":
			g.errors = append(g.errors, gpuError{[2]string{f[2], f[3]}, f[4]})
		case "library":
			g.libraries = append(g.libraries, gpuLibrary{strings.Split(f[1], ","), f[2]})
		}
	}
	return g
}

func (g *gpuErrors) words() []string {
	var words []string
	for _, e := range g.errors {
		words = append(append(words, e.names[:]...), e.text)
	}
	return words
}

// fatal reports whether the body of a failure is such an error. It is strict about where the words stand: an error may
// quote a client, and no client may end a worker.
func (g *gpuErrors) fatal(body []byte) bool {
	rest := ipc.FailureText(body)
	if !slices.ContainsFunc([]string{"CU", "Cu", "cu"},
		func(word string) bool { return bytes.Contains(rest, []byte(word)) }) {
		return false // most failures; they need no decoding
	}
	kind, message, _ := strings.Cut(errorOf(body), ": ")
	kind = kind[strings.LastIndexByte(kind, '.')+1:]
	return slices.ContainsFunc(g.libraries, func(l gpuLibrary) bool {
		return slices.Contains(l.types, kind) &&
			slices.ContainsFunc(g.errors, func(e gpuError) bool { return l.says(message, e) })
	})
}

// says reports whether a message has the form in which the library reports that error.
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

// errorOf returns the first line of the error in the body of a failure, or the body if it has none.
func errorOf(body []byte) string {
	text := ipc.FailureError(body)
	if text == "" {
		return string(body)
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}
