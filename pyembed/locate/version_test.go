package locate

import (
	"fmt"
	"testing"

	"pinion/tests/assert"
)

func TestVersion_ParseSoname(t *testing.T) {
	for name, want := range map[string]version{
		"libpython3.12.so.1.0":                     {3, 12, ""},
		"libpython3.12.so":                         {3, 12, ""},
		"libpython3.13t.so.1.0":                    {3, 13, "t"},
		"libpython3.13td.so.1.0":                   {3, 13, "td"},
		"libpython3.7m.so.1.0":                     {3, 7, "m"},
		"libpython2.7.so.1.0":                      {2, 7, ""},
		"$ORIGIN/../lib/libpython3.10.so.1.0":      {3, 10, ""},
		"/usr/lib/libpython3.100.so.1.0":           {3, 100, ""},
		"libpython3.so":                            {},
		"libpython3.12.a":                          {},
		"libpython3.12.sold":                       {},
		"libpython3.12x.so":                        {},
		"libpythonfoo.so":                          {},
		"libpython3..so":                           {},
		"libpython99999999999999999999.1.so":       {},
		"libpypy3.10-c.so":                         {},
		"libboost_python312.so.1.74.0":             {},
		"":                                         {},
		"libpython3.12.so.1.0/../libc.so.6":        {},
		"libpython-3.12.so":                        {},
		"libpython0.1.so":                          {},
		"libpython3.9999999999999999999999999t.so": {},
	} {
		got, ok := parseSoname(name)
		assert.Equal(t, name+": got", got, want)
		assert.Equal(t, name+": ok", ok, want != version{})
	}
}

func TestVersion_ParseProgram(t *testing.T) {
	for name, want := range map[string]version{
		"python3.12": {3, 12, ""}, "python3.13t": {3, 13, "t"}, "python2.7": {2, 7, ""},
		"python3.12-dbg": {}, "python3": {}, "python": {}, "pypy3.10": {}, "mise": {}, "python3.12-config": {},
	} {
		if got, ok := parseProgram(name); got != want || ok != (want != version{}) {
			t.Errorf("%q: got %+v, %v, want %v and %t", name, got, ok, want, want != version{})
		}
	}
}

func TestVersion_Sonames(t *testing.T) {
	got := version{3, 13, "t"}.sonames()
	assert.Equal(t, fmt.Sprintf("%v", got), got[0], "libpython3.13t.so.1.0")
}

// FuzzParseSoname: what was read can be written again and read to the same.
func FuzzParseSoname(f *testing.F) {
	f.Add("libpython3.12.so.1.0")
	f.Add("$ORIGIN/../lib/libpython3.13t.so")
	f.Fuzz(func(t *testing.T, name string) {
		v, ok := parseSoname(name)
		if !ok {
			if v.known() {
				t.Fatalf("not ok, and yet %+v, want known false", v)
			}
			return
		}
		for _, soname := range v.sonames() {
			if again, ok := parseSoname(soname); !ok || again != v {
				t.Fatalf("%q is %+v, but %q is %+v, want ok true and again %v", name, v, soname, again, v)
			}
		}
	})
}
