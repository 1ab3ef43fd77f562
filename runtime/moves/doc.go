// Package moves is the table of a state machine: which state may follow which. It is small because every machine of the
// server uses it and none owns it.
//
// A machine keeps its own states, names and guards; the table alone is here.
package moves
