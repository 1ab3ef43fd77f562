package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pinion/tests/assert"
)

// value builds what encoding/json would from raw, with our readers.
func value(raw []byte) any {
	switch KindOf(raw) {
	case KindNull:
		return nil
	case KindBool:
		return string(raw) == "true"
	case KindNumber:
		return json.Number(raw)
	case KindString:
		return Text(raw)
	case KindArray:
		items := []any{}
		for i, v := range Items(raw) {
			if i != len(items) {
				return "the index of an item is wrong"
			}
			items = append(items, value(v))
		}
		return items
	case KindObject:
		members := map[string]any{}
		for k, v := range Members(raw) {
			members[KeyText(k)] = value(v)
		}
		return members
	}
	return fmt.Errorf("no value: %q", raw)
}

// agree compares our reading of doc, which Check accepted, with that of encoding/json.
func agree(t *testing.T, doc []byte) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var want any
	err := d.Decode(&want)
	assert.TrueNow(t, err == nil, "encoding/json refuses %q: got %v, want no error", doc, err)
	got := value(bytes.TrimSpace(doc))
	assert.True(t, reflect.DeepEqual(got, want), "read %q\n as %#v\nwant %#v", doc, got, want)
}

func TestReader_Values(t *testing.T) {
	for _, doc := range []string{
		`{}`, `[]`, `[[],{}]`, ` { "a" : [ 1 , 2 , { "b" : null } ] , "c\n\u00e9" : "x\"y\\" } `,
		`{"a":1,"a":2}`, `[1,-2.50,1e9,true,false,null,"",[[[["]"]]]],{"}":"{"}]`,
		`["\\","\\\"","\\\\","\"\"\"\"","0123456789\\\"abcdefghijklmnopqrstuvwxyz0123456789\""]`,
		`{"` + strings.Repeat("k", 300) + `":"` + strings.Repeat("v", 3000) + `"}`,
		`"\ud83d\ude00\u0000\/\b\f\n\r\t\u2028\uffff"`,
	} {
		assert.NoError(t, Check([]byte(doc)))
		agree(t, []byte(doc))
	}
}

func TestReader_Offset(t *testing.T) {
	doc := []byte(` { "a" : "x" , "b":[1, "y" ] }`)
	r := Object(doc)
	for {
		_, v, ok := r.Next()
		if !ok {
			break
		}
		assert.True(t, &doc[r.Offset()] == &v[0], "Offset of %q: got %d, want its own place", v, r.Offset())
	}
	a := Array([]byte(`[1, "y" ]`))
	a.Next()
	a.Next()
	assert.Equal(t, "Offset", a.Offset(), 4)
}

func TestReader_IterationEndsEarly(t *testing.T) {
	seen := 0
	for range Members([]byte(`{"a":1,"b":2}`)) {
		seen++
		break
	}
	for range Items([]byte(`[1,2]`)) {
		seen++
		break
	}
	assert.Equal(t, "rounds", seen, 2)
}

func TestReader_WrongKind(t *testing.T) {
	for _, doc := range []string{``, ` `, `1`, `"{}"`, `null`} {
		o, a := Object([]byte(doc)), Array([]byte(doc))
		_, _, ok := o.Next()
		assert.False(t, ok, "Object(%q) has a member", doc)
		_, ok = a.Next()
		assert.False(t, ok, "Array(%q) has an item", doc)
	}
	var o ObjectReader
	_, _, ok := o.Next()
	assert.False(t, ok, "the zero reader has a member")
	if k := KindOf([]byte("x")); k != KindInvalid || k.String() != "invalid" || Kind(99).String() != "invalid" {
		t.Errorf("KindOf(x) = %v, want k %v, k.String() invalid and Kind invalid", k, KindInvalid)
	}
}

// TestReader_Generated reads many made documents.
func TestReader_Generated(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		doc := generate(rnd, nil, 5)
		err := Check(doc)
		assert.TrueNow(t, err == nil, "Check(%q): got %v, want no error", doc, err)
		agree(t, doc)
	}
}

// generate appends a made value with odd spacing, escapes and lengths.
func generate(rnd *rand.Rand, b []byte, levels int) []byte {
	space := func() { b = append(b, "     \n\t\r"[:8][rnd.IntN(8):][:rnd.IntN(2)]...) }
	space()
	kinds := 7
	if levels == 0 {
		kinds = 5
	}
	switch rnd.IntN(kinds) {
	case 0:
		b = append(b, "null"...)
	case 1:
		b = append(b, []string{"true", "false"}[rnd.IntN(2)]...)
	case 2:
		b = append(b, []string{"0", "-0", "-12.50", "1e+9", "12345678901234567890123", "0.1E-5"}[rnd.IntN(6)]...)
	case 3, 4:
		b = generateString(rnd, b)
	case 5:
		b = append(b, '[')
		for i := range rnd.IntN(5) {
			if i > 0 {
				b = append(b, ',')
			}
			b = generate(rnd, b, levels-1)
		}
		space()
		b = append(b, ']')
	case 6:
		b = append(b, '{')
		for i := range rnd.IntN(5) {
			if i > 0 {
				b = append(b, ',')
			}
			space()
			b = generateString(rnd, b)
			space()
			b = append(b, ':')
			b = generate(rnd, b, levels-1)
		}
		space()
		b = append(b, '}')
	}
	space()
	return b
}

func generateString(rnd *rand.Rand, b []byte) []byte {
	b = append(b, '"')
	pieces := []string{
		`\"`, `\\`, `\/`, `\n`, `\u00e9`, `\uD83D\uDE00`, `\u0000`, "é", "語", "😀", "{", "}", "[", "]", ",", ":",
	}
	for range rnd.IntN(4) {
		b = append(b, strings.Repeat("x", rnd.IntN(40))...)
		b = append(b, pieces[rnd.IntN(len(pieces))]...)
	}
	return append(b, '"')
}

func FuzzReaders(f *testing.F) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		f.Add(generate(rnd, nil, 4))
	}
	f.Add([]byte(`{"a"`))
	f.Add([]byte(`["\`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if Check(doc) == nil {
			agree(t, doc)
			return
		}
		_ = value(doc) // must end, without a panic
	})
}

func TestReader_KeyIs(t *testing.T) {
	for _, test := range []struct {
		key, name string
		want      bool
	}{
		{`a`, "a", true},
		{`a`, "b", false},
		{``, "", true},
		{`a`, "ab", false},
		{`\u0061`, "a", true},
		{`\u0061b`, "ab", true},
		{`\u0061`, "b", false},
		{`\ud83d\ude00`, "😀", true},
		{`\\`, `\`, true},
		{`\n`, "n", false},
		{strings.Repeat(`\u0061`, 300), strings.Repeat("a", 300), true},
		{strings.Repeat(`\u0061`, 300), "a", false},
	} {
		assert.Equal(t, fmt.Sprintf("KeyIs(%q, %q)", test.key, test.name), KeyIs([]byte(test.key), test.name), test.want)
	}
}

func TestReader_AppendQuoted(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", `""`},
		{"plain <&> 'text'", `"plain <&> 'text'"`},
		{"a\"b\\c", `"a\"b\\c"`},
		{"\b\f\n\r\t\x00\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\""},
		{"é😀\u2028", "\"é😀\u2028\""},
		{"a\xffb\xc3", `"a` + "\uFFFD" + `b` + "\uFFFD" + `"`},
		{"\xed\xa0\x80", `"` + "\uFFFD\uFFFD\uFFFD" + `"`},
		{"\uFFFD", "\"\uFFFD\""},
	} {
		got := string(AppendQuotedBytes(nil, []byte(test.in)))
		assert.Equal(t, "AppendQuoted("+test.in, got, test.want)
		err := Check([]byte(got))
		assert.True(t, err == nil, "AppendQuoted(%q): got %v, want no error", test.in, err)
		text := Text([]byte(got))
		assert.False(t, utf8.ValidString(test.in) && text != test.in, "Text(AppendQuoted(%q)) = %q, want the same", test.in, text)
	}
	assert.Equal(t, "Text of half a string", Text([]byte(`"`)), "")
}

func FuzzAppendQuoted(f *testing.F) {
	f.Add("a\"\\\x00é\xff")
	f.Fuzz(func(t *testing.T, s string) {
		quoted := AppendQuoted(nil, s)
		if err := Check(quoted); err != nil {
			t.Fatalf("AppendQuoted(%q) = %q: got %v, want no error", s, quoted, err)
		}
		var want string
		err := json.Unmarshal(quoted, &want)
		assert.True(t, err == nil && Text(quoted) == want, "Text(%q) = %q, want %q (%v)", quoted, Text(quoted), want, err)
		assert.False(t, want != strings.ToValidUTF8(s, "\uFFFD") && utf8.ValidString(s),
			"AppendQuoted(%q) reads as %q, want no valid UTF-8", s, want)
	})
}

// TestReader_NameIsShort: a key of megabytes is not copied, and is not a name.
func TestReader_NameIsShort(t *testing.T) {
	assert.Equal(t, "Name", Name([]byte(`n\u0061me`)), "name")
	long := []byte(strings.Repeat("k", maxName-3) + `\u0061` + strings.Repeat("k", 10<<20)) // cut within the escape
	got := Name(long)
	assert.True(t, len(got) <= maxName+3 && strings.HasPrefix(got, "kkk"),
		`%d bytes are %.20q, want len(got) at most %d bytes and a text starting with "kkk"`, len(got), got, maxName+3)
}

// TestReader_QuotedLen: it is what quoting takes.
func TestReader_QuotedLen(t *testing.T) {
	texts := []string{"", "é", strings.Repeat("\x01", 1000)}
	for c := range utf8.RuneSelf {
		texts = append(texts, string(rune(c)))
	}
	for _, text := range texts {
		assert.Equal(t, text, QuotedLen([]byte(text)), len(AppendQuoted(nil, text)))
	}
}
