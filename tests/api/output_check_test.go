package api

import (
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const refusedOutput = "the output does not match the return annotation: "

func TestOutputCheck_OutputMustMatchItsAnnotation(t *testing.T) {
	t.Parallel()
	for model, problem := range map[string]string{
		"Text":   `output: a number is not of type "string"`,
		"Nested": `output/1/x: a string is not of type "number"`,
		"Items":  `output/1: a number is not of type "string"`,
		"Batch":  `output: null is not of type "string"`,
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "wrong.py:" + model, Args: []string{"--validate-output", "error"}})
			assert.Equal(t, "the error", s.Fail(harness.Input{"good": false}).Error, refusedOutput+problem)
			s.Succeed(harness.Input{"good": true})
			assert.False(t, strings.Contains(s.Log.String(), "token"),
				`the output's value stands in the log: got %.300q, want no "token" in it`, s.Log.String())
		})
	}
}

func TestOutputCheck_StreamEndsAtFirstItemThatItMayNotHave(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "wrong.py:Items", Args: []string{"--validate-output", "error"}})
	a := s.Create(map[string]any{"input": harness.Input{"good": false}}, "Accept", "text/event-stream")
	text := string(a.Body)
	assert.Equal(t, `strings.Count(text, "event: output")`, strings.Count(text, "event: output"), 1)
	assert.Contains(t, "text", text, `"status":"failed"`)
	assert.Contains(t, "text", text, "output/1: a number is not")
	a = s.Create(map[string]any{"input": harness.Input{"good": true}}, "Accept", "text/event-stream")
	text = string(a.Body)
	assert.True(t, strings.Count(text, "event: output") == 3 && strings.Contains(text, `"status":"succeeded"`),
		"got %s, want Count 3 and text with %q", text, `"status":"succeeded"`)
}

func TestOutputCheck_FilesAreWhatPathMayBe(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "wrong.py:File", Args: []string{"--validate-output", "error"}})
	a := s.Succeed(harness.Input{})
	assert.True(t, strings.HasPrefix(a.Text(t), "data:text/plain"), `got %s, want Text starting with "data:text/plain"`, a)
	assert.Equal(t, "the output", string(s.Do(http.MethodPost, "/predictions", map[string]any{}, "Accept",
		"text/plain, application/octet-stream").Body), "text")
}

func TestOutputCheck_WrongOutputIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	const warning = "an output does not match the return annotation"
	s := harness.Ready(t, harness.Options{Model: "wrong.py:Text"})
	for range 3 {
		s.Succeed(harness.Input{"good": false})
	}
	s.Stop() // then its log is whole
	assert.Equal(t, "warnings", strings.Count(s.Log.String(), warning), 1)
	off := harness.Ready(t, harness.Options{Model: "wrong.py:Text", Env: []string{"PINION_VALIDATE_OUTPUT=off"}})
	off.Succeed(harness.Input{"good": false})
	off.Stop()
	assert.False(t, strings.Contains(off.Log.String(), warning),
		"it is warned of, though that is off: got %.300q, want no %q in it", off.Log.String(), warning)
	harness.WantRefused(t, harness.Options{Model: "wrong.py:Text", Args: []string{"--validate-output", "maybe"}}, 2,
		"off, warn or error")
}

func TestOutputCheck_TrainingsOutputIsCheckedToo(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Model: "wrong.py:Text", Env: []string{"COG_TRAIN_TYPE_STUB=wrong.py:text"},
		Args: []string{"--validate-output", "error"},
	})
	a := s.Do(http.MethodPost, "/trainings", map[string]any{"input": harness.Input{"good": false}})
	assert.True(t, a.Status == "failed" && strings.HasPrefix(a.Error, refusedOutput),
		"got %s, want Status failed and Error starting with %q", a, refusedOutput)
}
