// Package terminal writes what a command shows to people: a progress line on stderr, the model's log, and tokens as
// they arrive.
package terminal
