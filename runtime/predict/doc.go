// Package predict holds one prediction's lifecycle: its identity, its status, its record, and the registry of those in
// flight. It does no I/O, opens no files, and knows neither HTTP nor workers.
//
// Guarantees: a prediction's status changes only along the table in status.go. A prediction ends exactly once, and its
// record is complete by then. A registry never holds two predictions of one id.
//
// The package is the vocabulary of the others: httpd and every package of runtime may import it.
package predict
