package schema

import (
	"bytes"
	"testing"

	"pinion/tests/assert"
)

func BenchmarkPrepare(b *testing.B) {
	const image = `"image":"data:image/png;base64,`
	big := append([]byte(`{`+image), bytes.Repeat([]byte("QUJD"), 2_500_000)...)
	big = append(big, `"}`...)
	list := append([]byte(`{"list":[0.5`), bytes.Repeat([]byte(",0.123456789"), 100_000)...)
	list = append(list, `]}`...)
	s := mustCompile(b, openapi(`{"type":"object","properties":{
		"prompt":{"type":"string","maxLength":500,"x-order":0},
		"steps":{"type":"integer","minimum":1,"maximum":500,"x-order":1},
		"guidance":{"type":"number","minimum":0,"maximum":20,"x-order":2},
		"size":{"allOf":[{"$ref":"#/components/schemas/size"}],"x-order":3},
		"seed":{"type":"integer","nullable":true,"default":1,"x-order":4},
		"image":{"type":"string","format":"uri","x-order":5},
		"list":{"type":"array","items":{"type":"number"},"x-order":6},
		"even":{"type":"number","multipleOf":0.5,"x-order":7}}}`, components...))
	for _, bench := range []struct {
		name  string
		input []byte
	}{
		{"one", []byte(`{"prompt":"an astronaut riding a horse"}`)},
		{"five", []byte(`{"prompt":"an astronaut riding a horse","steps":50,"guidance":7.5,"size":"m","seed":42}`)},
		{"unknown", []byte(`{"prompt":"an astronaut riding a horse","steps":50,"guidance":7.5,"zz":1}`)},
		{"rare", []byte(`{"prompt":"an astronaut riding a horse","even":7.5}`)},
		{"base64", big},
		{"floats", list},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.input)))
			b.ReportAllocs()
			for b.Loop() {
				_, err := s.Prepare(bench.input)
				assert.NoError(b, err)
			}
		})
	}
	b.Run("invalid", func(b *testing.B) {
		input := []byte(`{"prompt":"an astronaut riding a horse","steps":501,"guidance":"high"}`)
		for b.Loop() {
			_, err := s.Prepare(input)
			assert.TrueNow(b, err != nil, "no error")
		}
	})
}
