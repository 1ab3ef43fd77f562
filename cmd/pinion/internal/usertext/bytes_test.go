package usertext

import (
	"testing"

	"pinion/tests/assert"
)

func TestBytes_Units(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1024": 1024, "1k": 1 << 10, "2MB": 2 << 20, "1.5GiB": 3 << 29, "8 GiB": 8 << 30, "1t": 1 << 40,
	} {
		var c Bytes
		err := c.Set(text)
		assert.True(t, err == nil && int64(c) == want, "%q is %d, %v; want %d", text, c, err, want)
	}
	for _, text := range []string{"", "much", "-1", "1X", "1GG", "NaN", "1e40"} {
		var c Bytes
		err := c.Set(text)
		assert.True(t, err != nil, "%q is taken for %d bytes", text, c)
	}
}
