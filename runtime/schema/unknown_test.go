package schema

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// TestUnknown_InputsAreNamed: with what may have been meant, bounded, and in plain ASCII.
func TestUnknown_InputsAreNamed(t *testing.T) {
	s := mustCompile(t, openapi(`{"type":"object","properties":{"prompt":{"type":"string"},"num_steps":{"type":"integer"},"x":{"type":"string"}}}`))
	long := strings.Repeat("ü", 300)
	for input, want := range map[string][]string{
		`{"promt":"a"}`:                {`unknown input "promt"; did you mean "prompt"?`},
		`{"prmopt":"a"}`:               {`unknown input "prmopt"; did you mean "prompt"?`},
		`{"Prompt":"a"}`:               {`unknown input "Prompt"; did you mean "prompt"?`},
		`{"num-steps":1,"prompt":"a"}`: {`unknown input "num-steps"; did you mean "num_steps"?`},
		`{"y":1}`:                      {`unknown input "y"; did you mean "x"?`},
		`{"something":1}`:              {`unknown input "something"`},
		`{"a\nb\u00e9":1}`:             {`unknown input "a\nb\u00e9"`},
		`{"` + long + `":1}`:           {`unknown input "` + strings.Repeat(`\u00fc`, 100) + `\u2026"`},
		`{"prompt":"a"}`:               nil,
		`{"A1":1,"A2":1,"A3":1,"A4":1,"A5":1,"A6":1,"A7":1}`: {
			`unknown input "A1"`, `unknown input "A2"`, `unknown input "A3"`, `unknown input "A4"`, `unknown input "A5"`,
			"2 more unknown inputs",
		},
	} {
		prepared, err := s.Prepare([]byte(input))
		assert.NoError(t, err, input)
		assert.EqualSlices(t, input, prepared.Warnings, want)
	}
	strict := mustCompile(t, openapi(`{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`))
	_, err := strict.Prepare([]byte(`{"promt":"a"}`))
	var invalid *predict.ValidationError
	if !errors.As(err, &invalid) ||
		!slices.Equal(invalid.Warnings, []string{`unknown input "promt"; did you mean "prompt"?`}) {
		t.Errorf("got %+v, want a validation error that warns of promt", err)
	}
}

func TestUnknownKeys_NamesWhatWasMeant(t *testing.T) {
	s := mustCompile(t, openapi(`{"type":"object","properties":{"scale":{"type":"number"}}}`))
	got := s.UnknownKeys(&predict.UnknownKeys{
		Names: []string{"scale", "inputs", "Input", "webhok", "something"},
		Known: []string{"input", "webhook"}, Place: "input",
	})
	want := []string{
		`unknown key "scale"; did you mean "scale" in "input"?`, `unknown key "inputs"; did you mean "input"?`,
		`unknown key "Input"; did you mean "input"?`, `unknown key "webhok"; did you mean "webhook"?`,
		`unknown key "something"`,
	}
	assert.EqualSlices(t, "warnings", got, want)
}
