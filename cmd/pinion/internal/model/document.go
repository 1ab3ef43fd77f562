package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/process"
	"pinion/pyembed/locate"
	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
	"pinion/runtime/supervise"
)

// How a document is made from a source; cog/_worker/static/main.py knows the words.
const (
	ReadAuto   = "auto"   // from the source alone; what that does not tell is imported
	ReadStatic = "static" // from the source alone
	ReadCheck  = "check"  // imported, and every mistake reported
)

// Reader is how a model's source is read.
type Reader struct {
	How     string
	Execute bool          // import also what then runs commands or downloads
	limit   time.Duration // how long it may take
}

// readLimit is how long reading a model may take where nothing else is said: an import of large libraries from a slow
// disk takes minutes.
const readLimit = 5 * time.Minute

// StaticReader reads the source alone.
func StaticReader() Reader { return Reader{How: ReadStatic, limit: readLimit} }

func (r *Reader) BindFlags(f *pflag.FlagSet) {
	f.BoolVar(&r.Execute, "execute", false, "import the model even if its import runs commands or downloads files")
	f.DurationVar(&r.limit, "timeout", readLimit, "how long reading and importing the model may take")
}

func (r *Reader) Check() error {
	if r.limit <= 0 {
		return fmt.Errorf("--timeout %s: must be more than 0", r.limit)
	}
	return nil
}

// Problem is one mistake in a model's folder.
type Problem struct {
	File      string `json:"file,omitempty"` // below the folder
	Line      int    `json:"line,omitempty"`
	What      string `json:"what"`
	Fix       string `json:"fix,omitempty"`
	Traceback string `json:"traceback,omitempty"`
}

func (p Problem) String() string {
	text := p.What
	if p.File != "" && p.Line > 0 {
		text = fmt.Sprintf("%s:%d: %s", p.File, p.Line, text)
	} else if p.File != "" {
		text = p.File + ": " + text
	}
	if p.Fix != "" {
		text += "\n    " + p.Fix
	}
	return text
}

// How much is shown of what a file with many mistakes, or with very long words, has.
const (
	maxShown    = 50
	longestText = 600 // bytes
)

// Shown returns the problems as people see them: not too many, none too long, and without what a terminal would act on.
func Shown(problems []Problem) []Problem {
	shown := slices.Clone(problems)
	if more := len(shown) - maxShown; more > 0 {
		shown = append(shown[:maxShown], Problem{What: fmt.Sprintf("and %d more", more)})
	}
	for i := range shown {
		p := &shown[i]
		p.File, p.What, p.Fix = plainText(p.File), plainText(p.What), plainText(p.Fix)
	}
	return shown
}

func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, logtext.ClipTo(text, longestText))
}

// Reading is what a model's source says.
type Reading struct {
	Document json.RawMessage `json:"document"` // OpenAPI; nil if there are problems
	How      string          `json:"how"`      // "stored", "static" or "import"
	Problems []Problem       `json:"problems"`
	Warnings []Problem       `json:"warnings"` // about what is odd, and served all the same
	Refusals []string        `json:"refusals"` // why the source alone does not tell
	Commands []Problem       `json:"commands"` // the command that the import would have run, so it was stopped
}

// ProblemsError is a model whose source has mistakes.
type ProblemsError struct{ Reading *Reading }

func (e *ProblemsError) Error() string {
	var lines []string
	for _, p := range Shown(e.Reading.Problems) {
		lines = append(lines, p.Traceback+p.String())
	}
	for _, c := range Shown(e.Reading.Commands) {
		lines = append(lines, c.String())
	}
	also := ""
	if len(e.Reading.Commands) > 0 {
		lines = append(lines, notExecuted)
	}
	if len(lines) > 0 {
		also = " either"
	}
	for _, r := range e.Reading.Refusals {
		lines = append(lines, fmt.Sprintf("the source alone does not tell%s: %s", also, r))
	}
	return strings.Join(lines, "\n")
}

const notExecuted = "    so the import was stopped there; --execute imports it all the same"

// ReadDocument returns the model's OpenAPI document without importing it: the one that it brings, else made from its
// source alone; nil if that does not tell. The error is a *ProblemsError where the source has mistakes.
func ReadDocument(m *Model, python *locate.Python) (json.RawMessage, error) {
	document, err := ReadStored(m.Dir)
	if document != nil && m.NoneDefaults == NoneOptional {
		return nil, nil // only the worker knows which of its inputs may be null
	}
	if err != nil || document != nil {
		return document, err
	}
	r, err := ReadSource(m, python, StaticReader())
	if err != nil {
		return nil, err
	}
	if len(r.Problems) > 0 {
		return nil, &ProblemsError{r}
	}
	return r.Document, nil
}

// Stored returns the OpenAPI document that the model brings; nil means it brings none that can be read, or that says
// all.
func Stored(m *Model) []byte {
	if m.NoneDefaults == NoneOptional {
		return nil // only the worker knows which of its inputs may be null
	}
	document, _ := ReadStored(m.Dir) // the load says what is wrong with it
	return document
}

// ReadSource reads the model's source with its Python, in a process of its own, which is the only one of its ranks.
func ReadSource(m *Model, python *locate.Python, by Reader) (*Reading, error) {
	r := &Reading{}
	return r, runSDK(python, "static.main", m.Dir, supervise.SingleRank(WithoutSecrets(supervise.WorkerEnv(m.Env))), map[string]any{
		"root": m.Dir, "ref": m.Ref, "train": m.Train, "how": by.How, "execute": by.Execute, "concurrency": m.Concurrency,
		"none_defaults": m.NoneDefaults,
	}, by.limit, r)
}

// runSDK runs the program of a module of cog._worker with a request, in a folder, and reads its answer.
func runSDK(python *locate.Python, module, dir string, env []string, request map[string]any, limit time.Duration,
	answer any,
) error {
	arg, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("ask %s: %w", module, err)
	}
	sdk, done, err := borrowSDK()
	if err != nil {
		return err
	}
	defer done()
	code := "import sys; sys.path[:1] = [" + pythonString(sdk) + "]; from cog._worker." + module + " import main; main()"
	cmd := exec.Command(python.Executable, "-c", code, string(arg))
	cmd.Dir, cmd.Env = dir, env
	cmd.Stderr = os.Stderr // what the model prints when it is imported
	out, err := process.Output(cmd, limit)
	switch {
	case errors.Is(err, process.ErrInterrupted):
		return err
	case err != nil:
		return fmt.Errorf("read the model with %s: %w", python.Executable, err)
	}
	if err := json.Unmarshal(out, answer); err != nil {
		return fmt.Errorf("read the model with %s: it answered %.200q: %w", python.Executable, out, err)
	}
	return nil
}

// longestRequest is how many bytes of a list a request of runSDK may have: an argument has 128 KiB at most.
const longestRequest = 64 << 10

// fitting returns as much of the beginning of a list as fits into a request.
func fitting(list []string) []string {
	bytes := 0
	for i, text := range list {
		if bytes += len(text) + 8; bytes > longestRequest {
			return list[:i]
		}
	}
	return append([]string{}, list...) // not null
}

// pythonString returns a Python string literal, in the form of a JSON string.
func pythonString(s string) string { return string(rawjson.AppendQuoted(nil, s)) }

// borrowSDK returns a folder that holds the cog package until done is called.
func borrowSDK() (dir string, done func(), err error) {
	if dir, err := process.CachedSDKFolder(); err == nil {
		return dir, func() {}, nil
	}
	run, err := process.MakeRunDir()
	if err != nil {
		return "", nil, err
	}
	if dir, err = process.SDKFolder(run); err != nil {
		_ = run.Remove()
		return "", nil, err
	}
	return dir, func() { _ = run.Remove() }, nil
}
