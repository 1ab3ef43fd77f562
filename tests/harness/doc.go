// Package harness starts the real binary with a real Python, talks to it over HTTP, and makes sure that nothing of it
// is left behind.
//
// It promises: every process that a test's server started has ended when the test has, also when it failed; a server
// that exited with an unexpected status, left its run folder or a process behind, or wrote something to its log that
// only a defect writes, fails its test; a test that failed shows the log.
//
// Tests wait on states that they can see (an answer, a line of the log, a process that is gone) with Eventually, whose
// bound only says when to give up.
package harness
