//go:build !race

package rawjson

import (
	"testing"

	"pinion/tests/assert"
)

func TestAllocations_OfReaders(t *testing.T) {
	doc := []byte(`{"input":{"prompt":"a \"cat\" é","steps":50,"list":[1,2,[3]],"\u0061":null},"id":"x"}`)
	text := []byte(`\ud83d\ude00\n`)
	buf := make([]byte, 0, 256)
	for name, f := range map[string]func(){
		"Check": func() {
			if Check(doc) != nil {
				t.Fail()
			}
		},
		"readers": func() {
			for r := Object(doc); ; {
				k, v, ok := r.Next()
				if !ok {
					break
				}
				KeyIs(k, "input")
				for key, value := range Members(v) {
					KeyIs(key, string(value[:0]))
				}
			}
		},
		"KeyIs":        func() { KeyIs(text, "😀\n") },
		"AppendQuoted": func() { AppendQuoted(buf, "a \"b\" \xff") },
		"AppendText":   func() { AppendText(buf, text) },
	} {
		assert.Equal(t, "allocations of "+name, testing.AllocsPerRun(100, f), 0)
	}
}
