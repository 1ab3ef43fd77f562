// Package predict is one prediction's life: its identity, its state machine, its record and the
// registry of those in flight. It does no I/O and knows neither HTTP nor workers.
//
// It promises: a prediction moves only along the table in status.go; it ends exactly once, and its
// record is complete by then; a registry never holds two predictions of one id.
//
// It is the vocabulary of the others: httpd and every package of runtime may import it, and it
// imports none of them.
package predict
