// Package moves has the transition table of a state machine: which state may follow which. It is a separate package
// because all state machines of the server use it. Each machine has its own states, names and guards.
package moves
