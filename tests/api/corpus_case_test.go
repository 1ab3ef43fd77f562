package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// corpusCase is the file case.json of a model.
type corpusCase struct {
	What      string          `json:"what"`       // for the reader
	Ref       string          `json:"ref"`        // --predictor; default: what cog.yaml says
	Env       []string        `json:"env"`        // added to the server's environment
	Modules   []string        `json:"modules"`    // left out where one of them is not installed
	Venv      string          `json:"venv"`       // served by this environment only
	Health    string          `json:"health"`     // the state in which it arrives; default: READY
	SetupLogs json.RawMessage `json:"setup_logs"` // as a step's logs
	Steps     []corpusStep    `json:"steps"`      // in this order
	// LogLacks must be nowhere in the server's log, LogsLack in no prediction's.
	LogLacks    []string `json:"log_lacks"`
	LogsLack    []string `json:"logs_lack"`
	SameWorker  bool     `json:"same_worker"`  // no step may end the worker
	StoppedLogs []string `json:"stopped_logs"` // lines of the server's log, in this order, once it was to end
	name        string
}

// corpusStep is one request and its answer.
type corpusStep struct {
	// "train", "stream", "healthcheck": asked for in another way than by a prediction
	Feature string          `json:"feature"`
	Input   json.RawMessage `json:"input"` // "@name" is a file of the model's folder as a data: URL, "@text N" N letters
	Context map[string]any  `json:"context"`
	Times   int             `json:"times"`  // asked so often, all at once where the model allows it
	Code    int             `json:"code"`   // default: 200
	Status  string          `json:"status"` // default: succeeded
	Output  json.RawMessage `json:"output"` // as match explains; left out: not looked at
	Chunks  json.RawMessage `json:"chunks"` // of a stream, likewise
	Error   string          `json:"error"`  // likewise
	Logs    json.RawMessage `json:"logs"`   // a string: all of them; a list: parts, in this order
	Have    []string        `json:"logs_have"`
	Metrics map[string]any  `json:"metrics"` // among others; null: not there
	Health  string          `json:"health"`
	// a known one, for which this step fails; once it does not, this is to be removed
	Fault string `json:"fault"`
}

func (c *corpusCase) needs(module string) bool {
	return slices.Contains(c.Modules, module) || strings.HasPrefix(c.name, module)
}

func readCase(name string) (*corpusCase, error) {
	data, err := os.ReadFile(filepath.Join(corpus, name, "case.json"))
	if err != nil {
		return nil, err
	}
	c := &corpusCase{name: name}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(c); err != nil {
		return nil, fmt.Errorf("read the case of %s: %w", name, err)
	}
	return c, nil
}

// run serves the model in one variant, as a subtest.
func (c *corpusCase) run(t *testing.T, v variant) {
	for _, module := range c.Modules {
		if !v.has(module) {
			if v.name == usual {
				t.Run(c.name, func(t *testing.T) { t.Skipf("needs %s", module) })
			}
			return // it would be no model of this variant
		}
	}
	t.Run(c.name, func(t *testing.T) {
		t.Parallel()
		c.serve(t, v)
	})
}

func (c *corpusCase) serve(t *testing.T, v variant) {
	dir := filepath.Join(t.TempDir(), c.name)
	assert.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(corpus, c.name))))
	s := harness.Start(t, harness.Options{
		Python: v.python, Dir: dir, Model: c.Ref, Env: c.Env, Args: []string{"--queue", "50"},
	})
	state := c.Health
	if state == "" {
		state = "READY"
	}
	health := s.WaitHealth(state)
	checkLogs(t, "setup", health.Setup.Logs, c.SetupLogs)
	worker := 0
	if c.Health == "" {
		c.checkSchema(t, s)
		worker = s.Worker()
	}
	waiting := map[string]bool{}
	for number, step := range c.Steps {
		what := fmt.Sprintf("step %d", number+1)
		noted := &notes{TB: t}
		if !step.take(noted, what, s, c) {
			waiting["cannot "+step.Feature+" yet"] = true
		}
		switch {
		case step.Fault == "":
			noted.report()
		case len(noted.errors) > 0:
			waiting["has a known fault: "+step.Fault] = true
		default:
			t.Errorf("%s: the step passes, want the fault %q: remove it from the case", what, step.Fault)
		}
	}
	if c.SameWorker {
		assert.Equal(t, "PID of the worker", s.Worker(), worker)
	}
	s.Stop()
	log := s.Log.String()
	for _, text := range c.LogLacks {
		assert.False(t, strings.Contains(log, text), "the log has %q, want it nowhere", text)
	}
	assert.Contains(t, "the log", log, c.StoppedLogs...)
	for why := range waiting {
		t.Run("waiting", func(t *testing.T) { t.Skipf("this server %s", why) })
	}
}

// notes keeps what a step finds wrong, until it is known whether it should be right.
type notes struct {
	testing.TB
	errors []string
}

// Errorf keeps an error.
func (n *notes) Errorf(format string, args ...any) {
	n.errors = append(n.errors, fmt.Sprintf(format, args...))
}

// Error keeps an error.
func (n *notes) Error(args ...any) { n.errors = append(n.errors, fmt.Sprint(args...)) }

func (n *notes) report() {
	for _, text := range n.errors {
		n.TB.Error(text)
	}
}

// take makes one step and reports whether the server knows how to.
func (step corpusStep) take(t testing.TB, what string, s *harness.Server, c *corpusCase) bool {
	t.Helper()
	if step.Feature == "healthcheck" {
		return step.healthcheck(t, what, s)
	}
	body := map[string]any{"input": inputOf(t, s.Dir, step.Input)}
	if step.Context != nil {
		body["context"] = step.Context
	}
	answers := make(chan harness.Answer)
	times := max(step.Times, 1)
	for range times {
		go func() {
			switch step.Feature {
			case "train":
				answers <- s.Do(http.MethodPost, "/trainings", body)
			case "stream":
				answers <- s.Create(body, "Accept", "text/event-stream")
			default:
				answers <- s.Create(body)
			}
		}()
	}
	known := true
	for range times {
		a := <-answers
		if step.Feature == "train" && a.Code == http.StatusNotFound ||
			step.Feature == "stream" && a.Code == http.StatusNotAcceptable {
			known = false
			continue
		}
		var chunks []byte
		if step.Feature == "stream" {
			chunks = unstream(t, what, &a)
		}
		step.check(t, what, a, chunks, c)
	}
	return known
}

// unstream reads the events of a stream: the chunks, and the prediction that the last event holds, which becomes the
// answer's.
func unstream(t testing.TB, what string, a *harness.Answer) []byte {
	t.Helper()
	chunks := []json.RawMessage{}
	var last string
	for _, event := range strings.Split(string(a.Body), "\n\n") {
		var data string
		for _, line := range strings.Split(event, "\n") {
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				last = name
			} else if text, ok := strings.CutPrefix(line, "data: "); ok {
				data = text
			}
		}
		if data == "" {
			continue // a comment
		}
		var output struct {
			Chunk json.RawMessage `json:"chunk"`
		}
		to := any(&output)
		if last == "completed" {
			to = &a.Prediction
		}
		err := json.Unmarshal([]byte(data), to)
		assert.True(t, err == nil, "%s: got %v, want no error in event %.300s", what, err, event)
		if last == "output" {
			chunks = append(chunks, output.Chunk)
		}
	}
	assert.Equal(t, what+": the last event", last, "completed")
	return assert.Must(json.Marshal(chunks))(t)
}

// check compares an answer with what the step says of it.
func (step corpusStep) check(t testing.TB, what string, a harness.Answer, chunks []byte, c *corpusCase) {
	t.Helper()
	code, status := step.Code, step.Status
	if code == 0 {
		code = http.StatusOK
	}
	if harness.WantCode(t, what, a, code); a.Code != http.StatusOK || code != http.StatusOK {
		return
	}
	if status == "" {
		status = "succeeded"
	}
	assert.Equal(t, what+": the status", a.Status, status)
	assert.True(t, matchText(a.Error, step.Error), "%s: the error is %q, want %q", what, a.Error, step.Error)
	if step.Output != nil && status == "succeeded" {
		matchJSON(t, what+": output", a.Output, step.Output)
	}
	if step.Chunks != nil {
		matchJSON(t, what+": chunks", chunks, step.Chunks)
	}
	checkLogs(t, what, a.Logs, step.Logs)
	for _, part := range step.Have {
		assert.Contains(t, what, a.Logs, part)
	}
	for _, text := range c.LogsLack {
		assert.False(t, strings.Contains(a.Logs, text), "%s: the logs have %q: %q, want it nowhere", what, text, a.Logs)
	}
	for name, want := range step.Metrics {
		assert.Equal(t, fmt.Sprintf("%s: metric %s is %v", what, name, a.Metrics[name]), match(a.Metrics[name], want), "")
	}
}

// healthcheck asks for the health, which asks the model. A server that does not is one that cannot yet: the model's
// own function prints nothing, so only the first answer that should not be READY tells.
func (step corpusStep) healthcheck(t testing.TB, what string, s *harness.Server) bool {
	t.Helper()
	a := s.Do(http.MethodGet, "/health-check", nil)
	var health struct {
		Status string `json:"status"`
		Error  string `json:"user_healthcheck_error"`
	}
	harness.FromJSON(t, a.Body, &health)
	assert.True(t, health.Status == step.Health && (matchText(health.Error, step.Error) || step.Error == ""),
		"%s: got %s, want %s with %q", what, a, step.Health, step.Error)
	return true
}

// checkLogs compares logs with a text, or looks for the parts of a list.
func checkLogs(t testing.TB, what, logs string, want json.RawMessage) {
	t.Helper()
	if want == nil {
		return
	}
	var whole string
	if json.Unmarshal(want, &whole) == nil {
		assert.Equal(t, what+": the logs", logs, whole)
		return
	}
	var parts []string
	harness.FromJSON(t, want, &parts)
	assert.Contains(t, what+": logs", logs, parts...)
}

// inputOf puts files and long texts where a case names them. The order of the input's members stays as it is written.
func inputOf(t testing.TB, dir string, input json.RawMessage) json.RawMessage {
	t.Helper()
	if input == nil {
		return json.RawMessage("{}")
	}
	return regexp.MustCompile(`"@[^"]+"`).ReplaceAllFunc(input, func(quoted []byte) []byte {
		name := strings.Trim(string(quoted), `@"`)
		if count, ok := strings.CutPrefix(name, "text "); ok {
			n := assert.Must(strconv.Atoi(count))(t)
			return []byte(`"` + strings.Repeat("x", n) + `"`)
		}
		content := assert.Must(os.ReadFile(filepath.Join(dir, name)))(t)
		media := mime.TypeByExtension(filepath.Ext(name))
		if filepath.Ext(name) == ".wav" {
			media = "audio/wav" // not every system's list has it
		}
		return []byte(`"data:` + media + ";base64," + base64.StdEncoding.EncodeToString(content) + `"`)
	})
}
