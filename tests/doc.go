// Package tests holds what is tested from outside: the built binary, started with real Pythons, and the house rules
// that no single package can hold by itself, such as the direction of imports.
//
// The tests that start the binary read PINION_BIN, its path, and PINION_TEST_PYTHONS, a list of interpreters divided
// by colons, each with the packages of requirements.txt; `./build.sh test` makes both. PINION_TEST_SMOKE_PYTHONS lists more,
// which are only smoke tested. With PINION_TEST_EACH_PYTHON_ONLY=1 only what tests each Python runs. With PINION_TEST_PRELOAD=1 all servers
// have --preload, and every test is one of forked workers. Nothing imports this package,
// and it imports nothing of this module.
package tests
