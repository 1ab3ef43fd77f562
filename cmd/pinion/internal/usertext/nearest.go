package usertext

// Nearest is the word that a misspelt one is likely to mean, or "".
func Nearest(word string, words []string) string {
	return NearestWithin(min(max(2, len(word)/3), len(word)-1), word, words)
}

// NearestWithin is the word at the least distance, which is at most that; "": none is so near.
func NearestWithin(most int, word string, words []string) string {
	best, distance := "", most+1
	if len(word) > longestWord {
		return ""
	}
	for _, other := range words {
		if d := Distance(word, other); d < distance {
			best, distance = other, d
		}
	}
	return best
}

// longestWord is how many bytes a word may have that is near to another one.
const longestWord = 100

// Distance is the Levenshtein distance of two short strings, in bytes.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
