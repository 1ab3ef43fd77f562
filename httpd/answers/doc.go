// Package answers writes the answers of the HTTP contract: objects, files, refusals and streams, in the form and the coding that
// their client asks for.
//
// A large answer goes from the record to the socket without another copy. Its bytes belong to a prediction, which is released
// once, after the last byte was written or given up.
//
// Package httpd and those below it that serve predictions import it.
package answers
