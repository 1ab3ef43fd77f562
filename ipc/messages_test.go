package ipc

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// exampleBody returns the body of an example of PROTOCOL.md.
func exampleBody(t *testing.T, name string) []byte {
	t.Helper()
	for _, e := range examples() {
		if e.name == name {
			return e.Body
		}
	}
	t.Fatalf("got no example %s, want one", name)
	return nil
}

// TestMessages_OfProtocol: the bodies that PROTOCOL.md shows are understood.
func TestMessages_OfProtocol(t *testing.T) {
	parsed := func(m any, err error) any {
		assert.Equal(t, "error", err, nil)
		return m
	}
	body := func(name string) []byte { return exampleBody(t, name) }
	for name, c := range map[string]struct{ got, want any }{
		"log":        {parsed(ParseLog(body("log"))), Log{Source: "stdout", Data: "step 1\n"}},
		"log-mark":   {parsed(ParseLogMark(body("log-mark"))), LogMark{Stdout: 512}},
		"log-record": {parsed(ParseLogRecord(body("log-record"))), LogRecord{1, 80, 110, 30, "diffusers"}},
		"batch-done": {parsed(ParseBatchDone(body("batch-done"))), BatchDone{Runs: 1}},
		"hello":      {parsed(ParseHello(body("hello"))), Hello{1, "3.13.0", "/usr/bin/python3"}},
		"loaded": {
			parsed(ParseLoaded(body("loaded"))),
			Loaded{Cog: "0.23.0", Slots: 1, Schema: []byte(`{"openapi":"3.0.2"}`)},
		},
		"ready": {parsed(ParseReady(body("ready"))), Ready{0.25, LogMark{Stdout: 512}}},
		"setup-failed": {parsed(ParseSetupFailed(body("setup-failed"))), SetupFailed{
			"KeyError: 'w'",
			LogMark{Stderr: 1024},
			&Problem{File: "run.py", Line: 7, What: "KeyError: 'w'", Traceback: "…"},
		}},
		"healthy": {parsed(ParseHealthy(body("healthy"))), Healthy{Error: "the healthcheck returned False"}},
		"methods": {parsed(ParseMethodBatches(body("method-batches"))), MethodBatches{
			Batches: map[string]MethodSamples{"decode": {2, 150_000, 9_800_000, 3, 0, 10_100_000}}, Spans: []MethodSpan{},
		}},
		"preloaded": {
			parsed(ParsePreloaded(body("preloaded"))),
			Preloaded{Refused: "its setup leaves 1 thread running (watcher)", Imports: true, SetupSeconds: 8.5},
		},
		"forked":  {parsed(ParseForked(body("forked"))), Forked{PID: 4711}},
		"failure": {FailureError(body("failed")), "ValueError: no such voice"},
	} {
		assert.True(t, reflect.DeepEqual(c.got, c.want), "%s: got %+v, want %+v", name, c.got, c.want)
	}
	if report, err := ParseCUDA(body("cuda")); err != nil || report["state"] != "absent" {
		t.Errorf("cuda: got %v, %v, want absent", report, err)
	}
	config := WorkerConfig{Python: "python3", Ref: "run.py", GPULost: []string{"CUDA error"}, Preload: true}
	text := assert.Must(config.Encode())(t)
	got, err := ParseWorkerConfig(text)
	assert.True(t, err == nil && reflect.DeepEqual(got, config), "config: got %+v, %v, want %+v", got, err, config)
}

// TestMessages_ThatNoWorkerSends are errors.
func TestMessages_ThatNoWorkerSends(t *testing.T) {
	failed := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"hello":     failed(ParseHello([]byte(`[]`))),
		"loaded":    failed(ParseLoaded([]byte(`{"slots":"one"}`))),
		"slots":     failed(ParseLoaded([]byte(`{"slots":0}`))),
		"more":      failed(ParseLoaded([]byte(`{"slots":1001}`))),
		"ready":     failed(ParseReady(nil)),
		"log":       failed(ParseLog([]byte(`{"source":1}`))),
		"mark":      failed(ParseLogMark([]byte(`{"stdout":-1}`))),
		"methods":   failed(ParseMethodBatches([]byte(`{"batches":{"decode":[1,2]}}`))),
		"batchdone": failed(ParseBatchDone([]byte(`{`))),
		"forked":    failed(ParseForked([]byte(`{"pid":"x"}`))),
	} {
		assert.True(t, err != nil, "%s: no error", name)
	}
	_, err := ParseHello([]byte(`{"protocol":2}`))
	assert.ErrorIs(t, "another version", err, ErrProtocol)
}

func TestMessages_ParseAnswer(t *testing.T) {
	for _, c := range []struct {
		kind                   Kind
		body                   string
		metrics, output, error string
	}{
		{KindSucceeded, `{"metrics":{"predict_time":0.1},"output":{"a":[1]}}`, `{"predict_time":0.1}`, `{"a":[1]}`, ""},
		{KindSucceeded, `{"metrics":{"predict_time":0.1}}`, `{"predict_time":0.1}`, "", ""},
		{KindSucceeded, `{"metrics":{"a":{"b}":"\\\"]}"}},"output":null}`, `{"a":{"b}":"\\\"]}"}}`, "null", ""},
		{KindFailed, `{"metrics":{},"error":"x"}`, `{}`, "", `"x"`},
		{KindCanceled, `{"metrics":{"n":[{}]}}`, `{"n":[{}]}`, "", ""},
	} {
		a, ok := ParseAnswer(c.kind, []byte(c.body))
		assert.True(t, ok && string(a.Metrics) == c.metrics && string(a.Output) == c.output && string(a.Error) == c.error,
			"%s %s: got %q, %v, want ok true, Metrics %q, Output %q and Error %q", c.kind, c.body, a, ok, c.metrics, c.output, c.error)
	}
	for _, c := range []struct {
		kind Kind
		body string
	}{
		{KindSucceeded, ``},
		{KindSucceeded, `{}`},
		{KindSucceeded, `{"metrics":}`},
		{KindSucceeded, `{"metrics":1}`},
		{KindSucceeded, `{"metrics":{"a":"}`},
		{KindSucceeded, `{"metrics":{},"output":}`},
		{KindSucceeded, `{"metrics":{},"outpu":1}`},
		{KindSucceeded, `{"output":1,"metrics":{}}`},
		{KindSucceeded, ` {"metrics":{},"output":1}`},
		{KindSucceeded, `{"metrics":{},"output":1`},
		{KindFailed, `{"metrics":{}}`},
		{KindFailed, `{"metrics":{},"error":1}`},
		{KindFailed, `{"metrics":{},"error":"}`},
		{KindCanceled, `{"metrics":{},"output":1}`},
	} {
		a, ok := ParseAnswer(c.kind, []byte(c.body))
		assert.False(t, ok, "%s %s: got %q: ok = true, want false", c.kind, c.body, a)
	}
}

func TestMessages_EveryKindHasItsName(t *testing.T) {
	for name, value := range kinds() {
		assert.Equal(t, fmt.Sprintf("kind %d", value), Kind(value).String(), name)
	}
	for _, none := range []Kind{0, 6, 254} {
		got := none.String()
		assert.True(t, strings.HasPrefix(got, "unknown ("), `kind %d is called %s, want it to start with "unknown ("`, none, got)
	}
}

func TestMessages_FilesMember(t *testing.T) {
	assert.Equal(t, "FilesMember", string(FilesMember(`/a"b`, "t", false)), `{"folder":"/a\"b","token":"t"}`)
	assert.Equal(t, "FilesMember", string(FilesMember("/a", "t", true)), `{"folder":"/a","token":"t","tensors":true}`)
}
