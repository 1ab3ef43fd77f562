package image

import (
	"regexp"
	"sync"
)

// pattern compiles an expression when it is first used. What a package does at its start, every worker does too.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
