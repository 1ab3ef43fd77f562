//go:build !race

package schema

import (
	"testing"

	"pinion/tests/assert"
)

func TestAllocations_OfPrepare(t *testing.T) {
	s := mustCompile(t, openapi(`{"type":"object","required":["prompt"],"properties":{
		"prompt":{"type":"string","minLength":1,"maxLength":500,"pattern":"^[a-z ]+$","x-order":0},
		"steps":{"type":"integer","minimum":1,"maximum":500,"default":50,"x-order":1},
		"guidance":{"type":"number","exclusiveMinimum":0,"maximum":20.5,"x-order":2},
		"size":{"allOf":[{"$ref":"#/components/schemas/size"}],"x-order":3},
		"flag":{"type":"boolean","x-order":4},
		"tags":{"type":"array","items":{"type":"string","minLength":1},"x-order":5},
		"count":{"allOf":[{"$ref":"#/components/schemas/count"}],"x-order":6},
		"point":{"allOf":[{"$ref":"#/components/schemas/Point"}],"x-order":7},
		"either":{"anyOf":[{"type":"string"},{"type":"integer"}],"x-order":8},
		"seed":{"type":"integer","nullable":true,"x-order":9}}}`, components...))
	for _, text := range []string{
		`{"prompt":"a cat","seed":null}`,
		`{"prompt":"an astronaut","steps":50,"guidance":7.5,"size":"m","flag":true,"tags":["a","b"],"count":2.5,"point":{"x":1,"y":2.0},"either":3,"seed":42}`,
		`{"seed":1,"prompt":"esc\u0061ped","either":"x"}`,
	} {
		input := []byte(text)
		want := 0.0
		if text[len(text)-4:] == `"x"}` {
			want = 1 // the escaped prompt, for its pattern
		}
		n := testing.AllocsPerRun(100, func() {
			if _, err := s.Prepare(input); err != nil {
				t.Error(err)
			}
		})
		assert.True(t, n <= want, "Prepare(%s) allocates %v times, want %v", text, n, want)
	}
}

func TestAlloc_GoodOutputCostsNoMemory(t *testing.T) {
	o := assert.Must(CompileOutput([]byte(outputs), "Point"))(t)
	output := []byte(`{"x":1,"label":"a"}`)
	assert.Equal(t, "allocations", testing.AllocsPerRun(100, func() { o.Check(output) }), 0)
}
