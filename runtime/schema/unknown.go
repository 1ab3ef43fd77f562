package schema

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"pinion/runtime/predict"
)

const (
	maxWarnings = 5  // unknown inputs that an answer names
	maxSpelled  = 64 // longest name in bytes that is compared with others
)

// warnings returns a warning for each unknown input, with the input that may have been meant. The names are already
// clipped.
func (s *Schema) warnings(unknown []string) (warnings []string) {
	for i, name := range unknown {
		if i == maxWarnings {
			return append(warnings, fmt.Sprintf("%d more unknown inputs", len(unknown)-i))
		}
		text := "unknown input " + strconv.QuoteToASCII(name)
		if near := s.nearest(name); near != "" {
			text += "; did you mean " + strconv.QuoteToASCII(near) + "?"
		}
		warnings = append(warnings, text)
	}
	return warnings
}

// UnknownKeys returns a warning for each unknown key that stands outside the input.
func (s *Schema) UnknownKeys(keys *predict.UnknownKeys) (warnings []string) {
	for i, name := range keys.Names {
		if i == maxWarnings {
			return append(warnings, fmt.Sprintf("%d more unknown keys", len(keys.Names)-i))
		}
		text := "unknown key " + strconv.QuoteToASCII(name)
		if near := nearestOf(name, slices.Values(keys.Known)); near != "" {
			text += "; did you mean " + strconv.QuoteToASCII(near) + "?"
		} else if near := s.nearest(name); near != "" {
			text += "; did you mean " + strconv.QuoteToASCII(near) + " in " + strconv.QuoteToASCII(keys.Place) + "?"
		}
		warnings = append(warnings, text)
	}
	return warnings
}

// nearest returns the input whose name differs least, by a third at most; "": none.
func (s *Schema) nearest(name string) (near string) {
	return nearestOf(name, func(yield func(string) bool) {
		for i := range s.fields {
			if !yield(s.fields[i].name) {
				return
			}
		}
	})
}

func nearestOf(name string, names iter.Seq[string]) (near string) {
	if len(name) > maxSpelled {
		return ""
	}
	least := max(1, len(name)/3) + 1
	for known := range names {
		if strings.EqualFold(name, known) {
			return known
		}
		if len(known) <= maxSpelled {
			if d := misspelt(name, known); d < least {
				near, least = known, d
			}
		}
	}
	return near
}

// misspelt returns the optimal string alignment distance of a and b: how many letters must be added, removed, replaced
// or swapped with the next. b has at most maxSpelled bytes.
func misspelt(a, b string) int {
	var rows [3][maxSpelled + 1]int
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
