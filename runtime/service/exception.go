package service

import (
	"bytes"
	"slices"
	"strings"

	"pinion/runtime/trace"
)

// maxStack bounds the stack of an exception in a span, in bytes.
const maxStack = 16 << 10

var (
	tracebackHead  = []byte("Traceback (most recent call last):\n")
	tracebackLinks = [][]byte{
		[]byte("\nThe above exception was the direct cause of the following exception:\n\n"),
		[]byte("\nDuring handling of the above exception, another exception occurred:\n\n"),
	}
)

// exceptionOf returns the exception that a model raised. The worker answers with the last line of its traceback, which it
// has written to the log just before.
func exceptionOf(line string, logs []byte) trace.Exception {
	e := trace.Exception{Type: "Exception", Message: line}
	if kind, message, _ := strings.Cut(line, ": "); !strings.ContainsAny(kind, " \n") {
		e.Type, e.Message = kind, message
	}
	at := bytes.LastIndex(logs, tracebackHead)
	for at > 0 && isLinked(logs[:at]) {
		at = bytes.LastIndex(logs[:at], tracebackHead)
	}
	if at >= 0 {
		stack := bytes.TrimRight(logs[at:], "\n")
		e.Stack = string(stack[max(0, len(stack)-maxStack):]) // what was raised is its end
	}
	return e
}

// isLinked reports whether the traceback that follows is of an exception that another one led to.
func isLinked(before []byte) bool {
	return slices.ContainsFunc(tracebackLinks, func(link []byte) bool { return bytes.HasSuffix(before, link) })
}
