package nearest

import (
	"fmt"
	"strings"
	"testing"

	"pinion/tests/assert"
)

func TestWord_NearestOrNone(t *testing.T) {
	words := []string{"predict", "train", "run", strings.Repeat("w", longestWord)}
	for given, want := range map[string]string{
		"predcit": "predict", "trian": "train", "TRAIN": "train", "build": "", "runn": "run", "r": "", "": "",
		strings.Repeat("w", longestWord-1):   words[3],
		strings.Repeat("w", longestWord+1):   "",
		strings.Repeat("predict", 1_000_000): "",
	} {
		assert.Equal(t, "nearest to "+given, Word(given, words), want)
	}
}

func TestHint_AsksOnlyForANearWord(t *testing.T) {
	for given, want := range map[string]string{
		"ocrr": `; did you mean "ocr"?`, "cor": `; did you mean "ocr"?`, "embedding": "", "ocr@3": `; did you mean "ocr@2"?`,
	} {
		assert.Equal(t, "the hint for "+given, Hint(given, []string{"ocr", "ocr@2", "rank"}), want)
	}
}

func TestDistance_CountsASwapOnce(t *testing.T) {
	for pair, want := range map[[2]string]int{{"ocr", "ocr"}: 0, {"ocr", "cor"}: 1, {"", "ocr"}: 3, {"embed", "rank"}: 5} {
		assert.Equal(t, fmt.Sprintf("the distance of %q and %q", pair[0], pair[1]), Distance(pair[0], pair[1]), want)
		assert.Equal(t, fmt.Sprintf("the distance of %q and %q", pair[1], pair[0]), Distance(pair[1], pair[0]), want)
	}
}
