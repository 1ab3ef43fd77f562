// Package logging is the server's own log: JSON lines, or aligned text on a terminal.
//
// New returns a logger that never blocks. A goroutine of its Sink writes; records that exceed the buffer are dropped,
// counted, and reported in the log. Call Sink.Flush before the process ends.
//
// StartSentry makes a Reporter, whose Follow returns a logger whose errors are reported to Sentry, without secrets.
package logging
