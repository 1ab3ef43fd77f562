// Package logtext bounds what is kept of a model's logs: Max bytes of a prediction's or a setup's, and MaxLine bytes of
// a line. A notice says how much was dropped; the server's own log has the rest. Clip shortens what a line shows of a
// client's text.
//
// It is small because supervision, predictions and HTTP all cut texts, and none of them owns that.
package logtext
