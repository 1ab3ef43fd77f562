package logtext

import (
	"testing"

	"pinion/tests/assert"
)

func TestLastLine_IsWithoutEscapes(t *testing.T) {
	for logs, want := range map[string]string{
		"a\n\x1b[1;32m45%|##\x1b[0m\n": "45%|##", "a\x1b[A\x1b[K": "a", "a\nb\x1b[": "b", "\x1b[31": "", "a\rb\x1b[Kc": "bc",
	} {
		assert.Equal(t, logs, LastLine(logs), want)
	}
}

func TestPercent_IsThatOfABar(t *testing.T) {
	for line, want := range map[string]int{
		"shards:  40%|####      | 4/10": 40, "100%|█": 100, "12.5 % [==": 12, "0%| 50%|": 0, "a 7% of it, 45%|": 45, "7%█": 7,
		"250%|": 100, "": -1, "45% done": -1, "%|": -1, "a%|": -1, "45%": -1, "..%|": -1, "99999999999999999999%|": -1,
	} {
		got, ok := Percent(line)
		if !ok {
			got = -1
		}
		assert.Equal(t, line, got, want)
	}
}
