// Package option reads the values of flags and environment variables. Each error says what the value was and what it
// may be, so that its caller only puts the name of the flag or variable before it.
package option
