// Package await is what tests of several packages wait by: for a state that nothing announces, and, when a test ends,
// for the last of what it had open. Only tests may import it; it is apart from harness, which needs the built binary.
//
// Its patience only bounds a failing test. A test that passes waits for states, never for a time.
package await
