// Package usage says what is wrong with a command line, and what would be right: commands and flags that do not exist,
// with the nearest that do, and values of the wrong form.
package usage
