package rawjson

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pinion/tests/assert"
)

func TestNumbers_Arrays(t *testing.T) {
	for doc, want := range map[string]int{
		`[]`: 0, "[ \n]": 0, `[1]`: 1, `[1,-2.5,3E+7,4e-1]`: 4, "[ 1 ,\t2\r\n]": 2,
		`["1"]`: -1, `[[1]]`: -1, `[{}]`: -1, `[true]`: -1, `[false]`: -1, `[1,null]`: -1, `["é"]`: -1,
		`["` + "\x7f" + `"]`: -1,
		`1`:                  -1, `""`: -1, `{"a":1}`: -1, ``: -1, `[`: -1,
	} {
		ok := Numbers([]byte(doc))
		assert.True(t, ok == (want >= 0) && (!ok || CountNumbers([]byte(doc)) == want),
			"Numbers(%q) = %v, want %d of them", doc, ok, want)
	}
}

func TestNumbers_Whole(t *testing.T) {
	for doc, want := range map[string]bool{`[]`: true, `[1,-20]`: true, `[1.0]`: false, `[1,1e2]`: false, `[1E2]`: false} {
		assert.True(t, Whole([]byte(doc)) == want, "Whole(%s) = %v, want %t", doc, !want, want)
	}
}

// TestNumbers_Agree puts one other value at each place of lists of all lengths, and compares with what a walk finds.
func TestNumbers_Agree(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	others := []string{`"1"`, `""`, `true`, `false`, `null`, `[]`, `{}`, `[2]`, `"\u00e9"`, `"é"`, `"[]"`}
	for n := range 40 {
		for place := -1; place < n; place++ {
			items := make([]string, n)
			for i := range items {
				items[i] = []string{"0", "-12", "0.6745098039215687", "1E+300", " 5e-7 "}[rnd.IntN(5)]
			}
			if place >= 0 {
				items[place] = others[rnd.IntN(len(others))]
			}
			list := "[" + strings.Join(items, ",") + "]"
			doc := fmt.Appendf(nil, `{"a":[%s,"x"],"b":%s,"c":[7]}`, list, list)
			err := Check(doc)
			assert.TrueNow(t, err == nil, "Check(%s): got %v, want no error", doc, err)
			agree(t, doc) // skips the lists, too
			if ok := Numbers([]byte(list)); ok != (place < 0) || ok && CountNumbers([]byte(list)) != n {
				t.Errorf("Numbers(%s) = %v, want ok %t and CountNumbers %d", list, ok, place < 0, n)
			}
		}
	}
}

// TestNumbers_Digits has every byte stop a run of digits, at each place of a word.
func TestNumbers_Digits(t *testing.T) {
	for c := range 256 {
		for place := range 20 {
			b := []byte(strings.Repeat("3901", 6))
			b[place] = byte(c)
			want := place
			if '0' <= c && c <= '9' {
				want = len(b)
			}
			assert.EqualNow(t, fmt.Sprintf("skipDigits(%q", b), skipDigits(b, 0), want)
		}
	}
}

func BenchmarkNumbers(b *testing.B) {
	doc := []byte("[" + strings.Repeat("0.6745098039215687,", 783) + "1]")
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			_ = Check(doc)
		}
	})
	b.Run("numbers", func(b *testing.B) {
		for b.Loop() {
			Numbers(doc)
		}
	})
	b.Run("skip", func(b *testing.B) {
		for b.Loop() {
			skipContainer(doc, 0, &Lists{})
		}
	})
}
