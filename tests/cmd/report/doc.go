// Command report turns what the test runners wrote into one line that a person or a program can trust.
//
//	report DIR             the failures of every suite, then "N passed, N failed[, N skipped]" alone on a line
//	report DIR SUITE...    one line for each of these suites, with the output of what failed
//
// A suite is a set of files in DIR with one base name:
//
//	NAME.rc      the runner's exit status and its seconds, "0 12"; a suite without it never ended and has failed
//	NAME.json    the output of `go test -json`
//	NAME.again   the same of a second run of the tests that failed
//	NAME.xml     a JUnit document, as pytest writes it
//	NAME.log     what else the runner printed; without .json and .xml the suite is a single check
//
// A test that fails in NAME.json and passes in NAME.again is a flake. It is reported with its name and output, and
// counts as passed. A run with more than maxFlakes of them has failed.
//
// Only leaves are counted: a Go test with subtests stands for nothing itself, unless it failed though all of them
// passed. A package that does not build, a test that a crash or a timeout cut off, and a runner that reports an
// error without naming a test count as failures: nothing that went wrong may vanish in the sum. The exit status is
// 1 where anything failed, too much was flaky, or nothing at all ran.
//
// build.sh calls it. It imports nothing of this module.
package main
