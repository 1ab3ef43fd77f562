package rawjson

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"pinion/tests/assert"
)

func documents() map[string][]byte {
	floats := []byte(`{"x":[`)
	for i := range 100_000 {
		if i > 0 {
			floats = append(floats, ',')
		}
		floats = strconv.AppendFloat(floats, float64(i)/7, 'g', -1, 64)
	}
	floats = append(floats, `]}`...)
	return map[string][]byte{
		"small": []byte(`{"input":{"prompt":"an astronaut riding a horse","steps":50,"guidance":7.5},"id":"abcdef"}`),
		"base64": []byte(`{"input":{"image":"data:image/png;base64,` +
			base64.StdEncoding.EncodeToString(make([]byte, 7_500_000)) + `"}}`),
		"cjk":    []byte(`{"input":{"text":"` + strings.Repeat("日本語の文章", 20_000) + `"}}`),
		"accent": []byte(`{"input":{"text":"` + strings.Repeat("Où êtes-vous né, hélas? ", 20_000) + `"}}`),
		"escape": []byte(`{"input":{"text":"` + strings.Repeat(`say \"hi\"\n`, 20_000) + `"}}`),
		"floats": floats,
	}
}

func BenchmarkCheck(b *testing.B) {
	for name, doc := range documents() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				assert.NoError(b, Check(doc))
			}
		})
	}
}

func BenchmarkReaders(b *testing.B) {
	for name, doc := range documents() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				for r := Object(doc); ; {
					k, v, ok := r.Next()
					if !ok {
						break
					}
					if KeyIs(k, "input") {
						for r := Object(v); ; {
							if _, _, ok := r.Next(); !ok {
								break
							}
						}
					}
				}
			}
		})
	}
}

// BenchmarkValid is the standard library, for comparison.
func BenchmarkValid(b *testing.B) {
	for name, doc := range documents() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				json.Valid(doc)
			}
		})
	}
}
