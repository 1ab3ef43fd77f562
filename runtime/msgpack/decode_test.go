package msgpack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

// hold is what stands for a bin in these tests: how long it is.
func hold(dst []byte, from io.Reader) ([]byte, error) {
	n, err := io.Copy(io.Discard, from)
	return fmt.Appendf(dst, `"%d bytes"`, n), err
}

func options() Options { return Options{Most: 1 << 20, Bins: "input", Bin: hold} }

// The bytes are written out by the format's specification, not by a library.
func TestDecode_ToJSON(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for _, c := range []struct{ pack, want string }{
		{"\xc0", `null`},
		{"\xc2", `false`},
		{"\xc3", `true`},
		{"\x07", `7`},
		{"\xff", `-1`},
		{"\xcc\xff", `255`},
		{"\xcd\x01\x00", `256`},
		{"\xce\xff\xff\xff\xff", `4294967295`},
		{"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", `18446744073709551615`},
		{"\xd3\x80\x00\x00\x00\x00\x00\x00\x00", `-9223372036854775808`},
		{"\xd0\x80", `-128`},
		{"\xd1\x80\x00", `-32768`},
		{"\xd2\x80\x00\x00\x00", `-2147483648`},
		{"\xca\x3f\x80\x00\x00", `1.0`},
		{"\xca\x80\x00\x00\x00", `-0.0`},
		{"\xcb\x44\xb5\x2d\x02\xc7\xe1\x4a\xf6", `1e+23`},
		{"\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a", `0.1`},
		{"\xcb\x7f\xef\xff\xff\xff\xff\xff\xff", `1.7976931348623157e+308`},
		{"\xa0", `""`},
		{"\xa3\xc3\xbc\x00", "\"ü\\u0000\""},
		{"\xd9\x01\"", `"\""`},
		{"\xda\x00\x01a", `"a"`},
		{"\xdb\x00\x03\x0d\x40" + long, `"` + long + `"`},
		{"\x90", `[]`},
		{"\x93\x01\x90\xc0", `[1,[],null]`},
		{"\xdc\x00\x01\x01", `[1]`},
		{"\xdd\x00\x00\x00\x01\x01", `[1]`},
		{"\x80", `{}`},
		{"\x82\xa1a\x01\xa1b\x81\xa1c\xc0", `{"a":1,"b":{"c":null}}`},
		{"\xde\x00\x01\xa1a\x01", `{"a":1}`},
		{"\x82\xa1a\x01\xa1a\x02", `{"a":1,"a":2}`},
		{
			"\x81\xa5input\x82\xa1f\xc4\x03abc\xa1l\x92\xc5\x00\x01x\xc6\x00\x00\x00\x00",
			`{"input":{"f":"3 bytes","l":["1 bytes","0 bytes"]}}`,
		},
		{"\x81\xa5input\xc4\x00", `{"input":"0 bytes"}`},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.pack), iotest.OneByteReader(strings.NewReader(c.pack))} {
			got, err := ToJSON(r, options())
			assert.True(t, err == nil && string(got) == c.want && rawjson.Check(got) == nil,
				"%.60q: %.100s, %v; want %.100s", c.pack, got, err, c.want)
		}
	}
}

func TestDecode_ToJSONRefuses(t *testing.T) {
	for pack, want := range map[string]string{
		"":                                     "it ends too early",
		"\x81":                                 "it ends too early",
		"\xa5ab":                               "it ends too early",
		"\xdb\x00\x00\xff\xffab":               "it ends too early",
		"\xdd\xff\xff\xff\xff\x01":             "it ends too early",
		"\x81\xa5input\xc6\x00\x00\x00\x05abc": "it ends too early",
		"\xc0\xc0":                             "data after the value",
		"\xc1":                                 "msgp: unrecognized type prefix 0xc1",
		"\xca\x7f\xc0\x00\x00":                 "it has a number that is not finite",
		"\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00": "it has a number that is not finite",
		"\xa1\xff":                             "it has a text that is not UTF-8",
		"\xd6\xff\x00\x00\x00\x00":             "it has an extension type, timestamps among them; write a time as a text (RFC 3339)",
		"\xd4\x05\x00":                         "it has an extension type, timestamps among them; write a time as a text (RFC 3339)",
		"\xc7\x10\x03\x00":                     "it has an extension type, timestamps among them; write a time as a text (RFC 3339)",
		"\x81\x01\x02":                         "it has a key that is not a text",
		"\x81\xc4\x01a\x02":                    "it has a key that is not a text",
		"\xc4\x01a":                            `it has binary data outside of "input"`,
		"\x81\xa2id\xc4\x01a":                  `it has binary data outside of "input"`,
		"\x82\xa5input\x01\xa2id\xc4\x01a":     `it has binary data outside of "input"`,
		"\x81\xa1a\x81\xa5input\xc4\x01a":      `it has binary data outside of "input"`,
		strings.Repeat("\x91", 501) + "\xc0":   "it nests deeper than 500 levels",
	} {
		_, err := ToJSON(strings.NewReader(pack), options())
		var syntax *SyntaxError
		assert.True(t, errors.As(err, &syntax) && syntax.Reason == want, "%.40q: %v, want %s", pack, err, want)
	}
}

func TestDecode_ToJSONIsBounded(t *testing.T) {
	o := options()
	o.Most = 1000
	for _, pack := range []string{
		"\xdb\x00\x00\x04\x00" + strings.Repeat("x", 1024),
		"\xdb\xff\xff\xff\xff",
		"\xda\x02\x00" + strings.Repeat("\x00", 512), // six bytes each
		"\xdc\x02\x00" + strings.Repeat("\xc2", 512),
		"\xdc\x02\x00" + strings.Repeat("\x90", 512),
		"\xdc\x02\x00" + strings.Repeat("\x80", 512),
	} {
		_, err := ToJSON(strings.NewReader(pack), o)
		assert.True(t, errors.Is(err, ErrTooLarge), "%.20q: %v, want ErrTooLarge", pack, err)
	}
}

// TestDecode_EscapesAreCharged before a text that they make longer is written.
func TestDecode_EscapesAreCharged(t *testing.T) {
	const size = 8 << 20
	o := options()
	o.Most = 100 << 20
	charged := 0
	full := errors.New("full")
	o.Grow = func(n int) error {
		if charged += n; charged > 3*size {
			return full
		}
		return nil
	}
	pack := "\xdb\x00\x80\x00\x00" + strings.Repeat("\x01", size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ToJSON(strings.NewReader(pack), o)
	runtime.ReadMemStats(&after)
	// The text grows by a quarter at a time, so reading it takes some five times its size.
	taken := after.TotalAlloc - before.TotalAlloc
	assert.True(t, errors.Is(err, full) && taken <= 8*size, "%v after %d bytes, want %v and at most %d", err, taken, full, 8*size)
}

func TestDecode_ToJSONPassesErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	for _, pack := range []string{"", "\x82\xa1", "\x81\xa5input\xc6\x00\x00\x00\x05abc"} {
		from := io.MultiReader(strings.NewReader(pack), iotest.ErrReader(broken))
		_, err := ToJSON(from, options())
		assert.True(t, errors.Is(err, broken), "%q: %v, want %v", pack, err, broken)
	}
	o := options()
	o.Bin = func([]byte, io.Reader) ([]byte, error) { return nil, broken }
	_, err := ToJSON(strings.NewReader("\x81\xa5input\xc4\x00"), o)
	assert.True(t, errors.Is(err, broken), "of a bin: %v, want %v", err, broken)
}

// FuzzToJSON checks that what is read is strict JSON, comes back the same through FromJSON, and costs no more
// than its bytes allow.
func FuzzToJSON(f *testing.F) {
	for _, seed := range []string{
		"\x82\xa1a\x01\xa5input\x81\xa1f\xc4\x01x", "\xdb\xff\xff\xff\xff",
		"\xdd\xff\xff\xff\xff\x90\x80", "\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a", "\xc7\x10\x03",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, pack []byte) {
		got, err := ToJSON(bytes.NewReader(pack), options())
		if err != nil {
			return
		}
		assert.NoError(t, rawjson.Check(got), pack, got)
		back, err := FromJSON(nil, got, "output")
		assert.NoError(t, err, pack, got)
		again, err := ToJSON(bytes.NewReader(back), options())
		assert.TrueNow(t, err == nil && bytes.Equal(again, got), "%q: %s and back %s, %v, want the same", pack, got, again, err)
	})
}
