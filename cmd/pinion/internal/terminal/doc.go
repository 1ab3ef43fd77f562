// Package terminal writes what a command shows to people: a progress line on stderr, the model's log, tokens as they
// arrive, and colours.
package terminal
