package schema

import (
	"fmt"
	"strconv"

	"pinion/runtime/nearest"
	"pinion/runtime/predict"
)

const maxWarnings = 5 // unknown inputs that an answer names

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
		if near := nearestOf(name, keys.Known); near != "" {
			text += "; did you mean " + strconv.QuoteToASCII(near) + "?"
		} else if near := s.nearest(name); near != "" {
			text += "; did you mean " + strconv.QuoteToASCII(near) + " in " + strconv.QuoteToASCII(keys.Place) + "?"
		}
		warnings = append(warnings, text)
	}
	return warnings
}

// nearest returns the input that may have been meant, or "" if none.
func (s *Schema) nearest(name string) string {
	names := make([]string, len(s.fields))
	for i := range s.fields {
		names[i] = s.fields[i].name
	}
	return nearestOf(name, names)
}

// nearestOf returns the word that differs least, by a third at most, or "" if none.
func nearestOf(name string, names []string) string {
	return nearest.Within(max(1, len(name)/3), name, names)
}
