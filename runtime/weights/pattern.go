package weights

import (
	"path"
	"strings"
)

// Includes reports whether a file below the source, by its path there, is one of the weights. The patterns are those of
// gitignore, and of two that match the later counts. A file that exclude matches is left out, also if include matches it.
func (s Source) Includes(file string) bool {
	return (len(s.Include) == 0 || matchesAny(s.Include, file)) && !matchesAny(s.Exclude, file)
}

// Filters reports whether the source has patterns.
func (s Source) Filters() bool { return len(s.Include)+len(s.Exclude) > 0 }

func matchesAny(patterns []string, file string) (matches bool) {
	for _, pattern := range patterns {
		pattern, negated := strings.CutPrefix(pattern, "!")
		if matches == negated && matchesPattern(pattern, file) {
			matches = !negated
		}
	}
	return matches
}

// matchesPattern reports whether a pattern is for a file, or for a folder above it. A pattern with a slash is for the
// whole path, and ** in it for any folders; another one is for the name of the file or of a folder. A slash at the end
// means folders alone.
func matchesPattern(pattern, file string) bool {
	parts := strings.Split(file, "/")
	pattern, folder := strings.CutSuffix(strings.TrimPrefix(pattern, "./"), "/")
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	words := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	if last := len(words) - 1; words[last] == "**" {
		words[last] = "*" // what is below that matches, too
	}
	return !folder && matchesParts(words, parts) || matchesParts(append(words, "**"), parts)
}

// matchesParts reports whether a pattern is for a path, word by word.
func matchesParts(pattern, parts []string) bool {
	// The place of the last ** and of the part that it has reached: of several, only the last needs to be tried again.
	again, from := -1, 0
	i, j := 0, 0
	for j < len(parts) {
		if i < len(pattern) && pattern[i] == "**" {
			if i == len(pattern)-1 {
				return true
			}
			again, from = i, j
			i++
			continue
		}
		if i < len(pattern) {
			if is, _ := path.Match(pattern[i], parts[j]); is {
				i, j = i+1, j+1
				continue
			}
		}
		if again < 0 {
			return false
		}
		from++
		i, j = again+1, from
	}
	return i == len(pattern)
}
