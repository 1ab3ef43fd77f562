package rawjson

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// numbers returns a list of n numbers of six bytes each, with the commas.
func numbers(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("0.1e2,", n), ",") + "]" }

func TestLists_AreRecorded(t *testing.T) {
	long, short := numbers(100), numbers(20)
	for doc, want := range map[string][]string{
		long:                 {long},
		" " + long + "\n":    {long},
		`{"a":` + long + `}`: {long},
		`{"a":[` + long + "," + long + `],"b":` + long + `}`: {long, long, long},
		"[" + strings.Repeat(long+",", 6) + "1]":             {long, long, long, long}, // the first few
		short:                                                nil,
		"[ " + long[1:]:                                      {"[ " + long[1:]},
		"[" + long + "]":                                     {long},
		"[1," + long + "]":                                   {long},
		"[" + long + "," + "1]":                              {long},
		`["x",` + long[1:]:                                   nil,
		"[true," + long[1:]:                                  nil,
		"[[]," + long[1:]:                                    nil,
		"[{}," + long[1:]:                                    nil,
		long[:len(long)-1] + ",[]]":                          nil,
		long[:len(long)-1] + `,""]`:                          nil,
		long[:len(long)-1] + ` ]`:                            nil, // right, though it is one
		strings.Repeat(" ", 300) + "[1]":                     nil,
		`{"` + strings.Repeat("x", 300) + `":1}`:             nil,
	} {
		l, err := CheckLists([]byte(doc))
		if err != nil {
			t.Errorf("CheckLists(%s): got %v, want no error", doc, err)
			continue
		}
		var got []string
		for _, at := range l.known[:l.count] {
			got = append(got, doc[at.start:at.end])
		}
		assert.True(t, fmt.Sprint(got) == fmt.Sprint(want), "in %s: %s, want %q", doc, got, fmt.Sprint(want))
	}
	l, err := CheckLists([]byte(long + "x"))
	assert.True(t, err != nil && l == (Lists{}), "of no document: %v, %v, want an error and l %+v", l, err, Lists{})
}

// TestLists_KnownLists reads made objects with what is known of their lists and without.
func TestLists_KnownLists(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	known := 0
	for range 2000 {
		doc := []byte("{")
		for i := range 1 + rnd.IntN(5) {
			if i > 0 {
				doc = append(doc, ',')
			}
			doc = fmt.Appendf(doc, ` "%d" :`, i)
			switch rnd.IntN(4) {
			case 0:
				doc = append(doc, numbers(rnd.IntN(120))...)
			case 1:
				doc = fmt.Appendf(doc, `{"in":%s,"x":[%s,%s]}`, numbers(60), numbers(rnd.IntN(90)), numbers(70))
			case 2:
				doc = fmt.Appendf(doc, `{"in":{"text":%q,"z":%s}}`, numbers(60), numbers(60))
			default:
				doc = generate(rnd, doc, 3)
			}
		}
		doc = append(doc, " }"...)
		lists, err := CheckLists(doc)
		assert.TrueNow(t, err == nil, "CheckLists(%s): got %v, want no error", doc, err)
		known += int(lists.count)
		sameMembers(t, doc, &lists)
	}
	assert.True(t, known >= 2000, "only %d lists were met, want at least 2000", known)
}

// sameMembers fails unless doc reads the same with its lists and without, and each that is known is one of numbers.
func sameMembers(t *testing.T, doc []byte, lists *Lists) {
	t.Helper()
	for _, at := range lists.known[:lists.count] {
		if !Numbers(doc[at.start:at.end]) || !lists.Is(int(at.start), int(at.end)) ||
			lists.Is(int(at.start), int(at.end)-1) || lists.Is(int(at.start)+1, int(at.end)) {
			t.Fatalf("%s of %s is known, want exactly the bounds of a list of numbers", doc[at.start:at.end], doc)
		}
	}
	plain := Object(doc)
	for quick := ObjectWith(doc, *lists); ; {
		key, value, ok := plain.Next()
		key2, value2, ok2 := quick.Next()
		if ok != ok2 || !bytes.Equal(key, key2) || !bytes.Equal(value, value2) || plain.Offset() != quick.Offset() {
			t.Fatalf("of %s: got %s %s, want as with %v, %s %s", doc, key, value, lists, key2, value2)
		}
		if !ok {
			return
		}
		if KindOf(value) == KindObject {
			inside := lists.From(plain.Offset())
			sameMembers(t, value, within(inside, len(value)))
		}
	}
}

// within returns those of l that end in the first n bytes.
func within(l Lists, n int) *Lists {
	var in Lists
	for _, at := range l.known[:l.count] {
		if int(at.end) <= n {
			in.add(int(at.start), int(at.end))
		}
	}
	return &in
}

// TestLists_OfAnotherDocument: what is known of one document may mean nothing of another, but does no harm.
func TestLists_OfAnotherDocument(t *testing.T) {
	lists := Lists{count: 2, known: [maxLists]listAt{{5, 400}, {8, 1 << 31}}}
	for _, doc := range []string{`{"a":[[[[1]]]]}`, `{"a":[1,[2],"` + strings.Repeat("[", 500) + `"]}`, `{"a":[`} {
		for r := ObjectWith([]byte(doc), lists); ; {
			if _, _, ok := r.Next(); !ok {
				break
			}
		}
	}
}
