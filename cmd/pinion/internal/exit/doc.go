// Package exit has the exit codes of the command, and errors that carry one.
package exit
