package msgpack

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

func TestEncode_FromJSON(t *testing.T) {
	items := strings.Repeat(",0", 70_000)[1:]
	for _, c := range []struct{ json, want string }{
		{`null`, "\xc0"},
		{` true `, "\xc3"},
		{`7`, "\x07"},
		{`-1`, "\xff"},
		{`256`, "\xd1\x01\x00"},
		{`-0`, "\xcb\x80\x00\x00\x00\x00\x00\x00\x00"},
		{`18446744073709551615`, "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"},
		{`-9223372036854775808`, "\xd3\x80\x00\x00\x00\x00\x00\x00\x00"},
		{`0.1`, "\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a"},
		{`1e400`, "\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00"},
		{`""`, "\xa0"},
		{`"ü\n\u0000"`, "\xa4ü\n\x00"},
		{`[ 1 , [] ]`, "\x92\x01\x90"},
		{`{"a" : {"b":1}}`, "\x81\xa1a\x81\xa1b\x01"},
		{`[` + items + `]`, "\xdd\x00\x01\x11\x70" + strings.Repeat("\x00", 70_000)},
		{`{"output":"data:image/png;base64,AAEC"}`, "\x81\xa6output\xc4\x03\x00\x01\x02"},
		{`{"output":{"x":["DATA:;BASE64,AA==","data:;base64,"]}}`, "\x81\xa6output\x81\xa1x\x92\xc4\x01\x00\xc4\x00"},
		{`{"output":"data:,text"}`, "\x81\xa6output\xaadata:,text"},
		{`{"output":"data:;base64,A!=="}`, "\x81\xa6output\xb1data:;base64,A!=="},
		{`{"output":"data:;base64,AAE"}`, "\x81\xa6output\xb0data:;base64,AAE"},
		{`{"input":"data:;base64,"}`, "\x81\xa5input\xaddata:;base64,"},
		{`["data:;base64,"]`, "\x91\xaddata:;base64,"},
		{`{"x":{"output":"data:;base64,"}}`, "\x81\xa1x\x81\xa6output\xaddata:;base64,"},
	} {
		got, err := FromJSON(nil, []byte(c.json), "output")
		assert.True(t, string(got) == c.want && err == nil, "%.60s: %.60q, %v, want %.60q", c.json, got, err, c.want)
	}
	for _, json := range []string{
		`18446744073709551616`, `-9223372036854775809`,
		`{"a":[1,{"b":1180591620717411303424}]}`,
	} {
		got, err := FromJSON(nil, []byte(json), "output")
		assert.True(t, errors.Is(err, ErrLongInteger), "%s: %q, %v, want %v", json, got, err, ErrLongInteger)
	}
}

func TestEncode_HeadersOfEverySize(t *testing.T) {
	for _, n := range []int{0, 15, 16, 255, 256, 65535, 65536} {
		var object []byte
		for i := range n {
			object = fmt.Appendf(object, `,"%d":"%s"`, i, strings.Repeat("y", i%40))
		}
		object = append(append([]byte("{"), bytes.TrimPrefix(object, []byte(","))...), '}')
		array := append(append([]byte("["), bytes.TrimSuffix(bytes.Repeat([]byte("[null],"), n), []byte(","))...), ']')
		for _, json := range [][]byte{object, array} {
			pack := assert.Must(FromJSON(nil, json, ""))(t)
			back, err := ToJSON(bytes.NewReader(pack), Options{Most: 1 << 30})
			assert.True(t, err == nil && bytes.Equal(back, json), "%d members: %.60s, %v, want %q", n, back, err, json)
		}
	}
}

// FuzzFromJSON checks that every answer can be packed, and read again as one value.
func FuzzFromJSON(f *testing.F) {
	for _, seed := range []string{
		`{"output":"data:;base64,AA=="}`, `[1e400,-0,18446744073709551616]`,
		`{"a":[{}],"\u0061":""}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, json []byte) {
		if rawjson.Check(json) != nil {
			return
		}
		pack, _ := FromJSON(nil, json, "output") // with an integer that is too long it is of no use, but a value all the same
		_, err := ToJSON(bytes.NewReader(pack), Options{Most: 1 << 30, Bins: "output", Bin: hold})
		assert.TrueNow(t, err == nil || strings.Contains(err.Error(), "not finite"),
			`%s: %q: %v, want it to contain "not finite"`, json, pack, err)
	})
}
