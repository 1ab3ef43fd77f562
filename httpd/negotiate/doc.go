// Package negotiate reads what a client asks for in its headers: the form and the coding of its body, the form and the coding of
// the answer, and whether it waits for that, gets events, or asks later. It reads headers alone, and copies none.
//
// Package httpd, those below it and the other protocols import it; it knows none of them.
package negotiate
