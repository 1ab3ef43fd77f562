package jobqueue

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// checker accepts requests whose input has the word that the schema names.
type checker struct {
	mu      sync.Mutex
	schemas map[string]string // by version
}

func (c *checker) SetSchema(s state.Schema) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.schemas[s.Model] = strings.Trim(string(s.OpenAPI), `"`)
}

func (c *checker) word(version string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.schemas[version]
}

var errUnfit = errors.New("it does not fit")

func (c *checker) Check(req *predict.Request, _ int) (input []byte, warnings []string, err error) {
	if !strings.Contains(string(req.Input), c.word(req.Version)) {
		return nil, nil, errUnfit
	}
	return req.Input, nil, nil
}

// published is the schema of a model, whose word may change.
type published struct {
	mu   sync.Mutex
	word string
}

func (p *published) set(word string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.word = word
}

func (p *published) schema(version string) (state.Schema, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return state.Schema{OpenAPI: []byte(`"` + p.word + version + `"`)}, p.word != ""
}

// TestSchema_GatewayChecksByIt: a member without a model checks requests by what a server wrote of the model and of its
// versions, and asks once more before it refuses one.
func TestSchema_GatewayChecksByIt(t *testing.T) {
	r := newRig(t)
	known := &checker{schemas: map[string]string{}}
	gateway := r.join("gateway", func(o *Options) { o.Checker = known })
	_, err := gateway.Accept(submission("before", `{"s":"anything"}`))
	assert.True(t, err == nil, "before a server has told of its schema: got %v, want the job accepted", err)
	model := &published{}
	r.serveAs("server", func(o *Options) {
		o.Schema, o.Versions = model.schema, func() map[string]int { return map[string]int{"2": 1} }
	})
	model.set("first")
	assert.Eventually(t, "the gateway knows the schemas", func() bool {
		return known.word("") == "first" && known.word("2") == "first2"
	})
	_, err = gateway.Accept(submission("a", `{"s":"first"}`))
	assert.True(t, err == nil, "got %v, want the job accepted", err)
	_, err = gateway.Accept(submission("b", `{"s":"other"}`))
	assert.True(t, errors.Is(err, errUnfit), "got %v, want %v", err, errUnfit)
	model.set("second")
	assert.Eventually(t, "a request that fits only the new schema is accepted", func() bool {
		_, err := gateway.Accept(submission("c", `{"s":"second"}`))
		return err == nil
	})
}

// TestRenderer_Objects: a command that is no member writes the same objects as a server.
func TestRenderer_Objects(t *testing.T) {
	var o Renderer
	job := &state.Job{ID: "p1"}
	of := &state.State{
		ModelVersion: "2",
		Prediction:   []byte(`{"id":"p1","input":{"s":"x"},"created_at":"2026-11-26T10:00:00Z","logs":"old"}`),
	}
	for what, c := range map[string]struct {
		object []byte
		want   []string
	}{
		"started": {o.RenderStarted(job, of), []string{
			`"id":"p1"`, `"input":{"s":"x"}`, `"status":"processing"`, `"created_at":"2026-11-26T10:00:00Z"`, `"version":"2"`,
		}},
		"canceled": {o.RenderEnded(job, of, state.Canceled, ""), []string{`"status":"canceled"`, `"completed_at"`}},
		"failed":   {o.RenderEnded(job, of, state.Failed, "lost"), []string{`"status":"failed"`, `"error":"lost"`}},
		"retry":    {o.RenderRetry("p2", of), []string{`"id":"p2"`, `"input":{"s":"x"}`, `"status":"starting"`}},
		"unknown":  {o.RenderRetry("p2", nil), []string{`"id":"p2"`, `"status":"starting"`}},
	} {
		for _, want := range c.want {
			assert.True(t, strings.Contains(string(c.object), want) && !strings.Contains(string(c.object), "old"),
				"%s: got %s, want %s and no logs of another run", what, c.object, want)
		}
	}
}

// TestEvents_LogIsRead: the text of a log event comes back as it was, and a broken one is empty.
func TestEvents_LogIsRead(t *testing.T) {
	e, ok := toStoreEvent(&predict.Event{Kind: predict.EventLog, Source: "stderr", Data: []byte("a \"b\"\n\x01")})
	source, text := readLogEvent(e.Data)
	assert.True(t, ok && source == "stderr" && string(text) == "a \"b\"\n\x01", "got %q of %q, %v, want the same", text, source, ok)
	source, text = readLogEvent([]byte(`{"source":7`))
	assert.True(t, source == "" && text == nil, "a broken event: got %q of %q, want none", text, source)
}
