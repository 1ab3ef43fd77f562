// Package tests holds the tests of the built binary from outside, with real Pythons, in packages by subject: api, cli,
// queue, protocols, workers, telemetry and docs. They run in this folder (harness.Main).
//
// These variables choose what a run tests; ./build.sh test sets them:
//
//	PINION_BIN                      the binary; without it each package builds one
//	PINION_TEST_PYTHONS             interpreters with the packages of requirements.txt, with colons between them
//	PINION_TEST_SMOKE_PYTHONS       more, which serve one model of each kind
//	PINION_TEST_EACH_PYTHON_ONLY=1  only the tests that run with each interpreter
//	PINION_TEST_FULL=1              the tests of ./build.sh test-full too
//	PINION_TEST_PRELOAD=1           every server has --preload, so every worker is forked
//
// The tests import harness, conformance, rawgrpc and await, and no other package of this module. What tests of several
// subjects need stands in harness.
package tests
