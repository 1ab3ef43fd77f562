package predict

import (
	"bytes"
	"testing"

	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

func TestAttachments_PlaceholdersAreReadAndShown(t *testing.T) {
	for _, name := range []string{"", "photo.png", `a"b\c`, "ünïcode 🙂.bin", "new\nline", "0:x", "\xff"} {
		raw := AppendPlaceholder(nil, 17, name)
		number, got, ok := ReadPlaceholder(raw)
		shown := rawjson.Text(rawjson.AppendQuoted(nil, name))
		assert.True(t, ok && number == 17 && got == shown && IsPlaceholder(raw),
			"%q is read as %d %q %v, want ok true, number 17, %q and IsPlaceholder(raw) true", name, number, got, ok, shown)
		assert.True(t, rawjson.Check(raw) != nil, "%q is valid JSON: a client can write it", raw)
		input := bytes.Join([][]byte{[]byte(`{"a":`), raw, []byte(`,"b":[`), raw, []byte(`,1]}`)}, nil)
		assert.Equal(t, "counted placeholders", CountPlaceholders(input), 2)
		members := rawjson.Object(input)
		_, value, _ := members.Next()
		assert.True(t, bytes.Equal(value, raw), "%q is found as %q, want the same", raw, value)
		got2 := ShowPlaceholders(input)
		want := string(rawjson.AppendQuoted(nil, name))
		assert.Equal(t, "second text", string(got2), `{"a":`+want+`,"b":[`+want+`,1]}`)
		assert.NoError(t, rawjson.Check(got2))
	}
}

func TestAttachments_NoJSONIsStandIn(t *testing.T) {
	for _, raw := range []string{`"\u00000:x"`, `""`, `"0:x"`, `{}`, ``, `"`} {
		_, _, ok := ReadPlaceholder([]byte(raw))
		assert.True(t, !ok && !IsPlaceholder([]byte(raw)) && CountPlaceholders([]byte(raw)) == 0,
			"%s is taken for a placeholder, want ok false, IsPlaceholder([]byte(raw)) false and CountPlaceholders 0", raw)
	}
	plain := []byte(`{"a":"\u0000"}`)
	assert.Equal(t, "copies of an input without files", &ShowPlaceholders(plain)[0], &plain[0])
}
