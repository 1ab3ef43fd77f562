package schema

import (
	"fmt"
	"strconv"
)

const (
	maxWarnings = 5  // unknown inputs that an answer names
	maxSpelled  = 64 // bytes of a name that is compared with others
)

// warnings says of unknown inputs what they are and what may have been meant. The names are cut already.
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

// nearest is the input whose name differs least from that one, and in a third of it at most; "" if there is none.
func (s *Schema) nearest(name string) (near string) {
	if len(name) > maxSpelled {
		return ""
	}
	least := max(1, len(name)/3) + 1
	for i := range s.fields {
		if known := s.fields[i].name; len(known) <= maxSpelled {
			if d := misspelt(name, known); d < least {
				near, least = known, d
			}
		}
	}
	return near
}

// misspelt is how many letters must be added, left out, replaced or swapped with the next to make b of a (the optimal string
// alignment distance).
func misspelt(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
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
