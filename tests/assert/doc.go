// Package assert is what tests of all packages check and wait by: equality, errors, a state that nothing announces,
// and, when a test ends, what it has left open. Only tests may import it; it is apart from harness, which needs the
// built binary.
//
// A check shows what it got and what it wants. NoError and those whose names end with Now end the test, as FailNow
// does; the others let it go on.
package assert
