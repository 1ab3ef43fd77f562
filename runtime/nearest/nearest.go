package nearest

import (
	"strconv"
	"strings"
)

// longestWord is how many bytes a word may have that is compared with others: a model's name with its version has 127.
const longestWord = 128

// Hint asks whether another word was meant, for the end of an error: `; did you mean "ocr"?`. "" means no word is near.
func Hint(word string, words []string) string {
	if near := Word(word, words); near != "" {
		return "; did you mean " + strconv.QuoteToASCII(near) + "?"
	}
	return ""
}

// Word returns the word that a misspelt one is likely to mean; "" means none.
func Word(word string, words []string) string {
	return Within(min(max(2, len(word)/3), len(word)-1), word, words)
}

// Within returns the word at the least distance, which is at most that, or one that differs only in case; "" means none
// is so near.
func Within(most int, word string, words []string) string {
	best, distance := "", most+1
	for _, other := range words {
		if strings.EqualFold(word, other) {
			return other
		}
		if d := Distance(word, other); d < distance {
			best, distance = other, d
		}
	}
	return best
}

// Distance returns the optimal string alignment distance of two words: how many bytes must be added, removed, replaced
// or swapped with the next. The distance of longer words than longestWord is more than any.
func Distance(a, b string) int {
	if max(len(a), len(b)) > longestWord {
		return 2 * max(len(a), len(b))
	}
	var rows [3][longestWord + 1]int
	before, last, row := rows[0][:], rows[1][:], rows[2][:]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
