// Package tests holds what is tested from outside: the built binary, started with real Pythons, and the house rules
// that no single package can hold by itself, such as the direction of imports.
//
// The tests that start the binary read PINION_BIN, its path, and PINION_TEST_PYTHONS, a list of interpreters divided
// by colons, each with the packages of requirements.txt; `./build.sh test` makes both. With PINION_TEST_PRELOAD=1 all servers
// have --preload, and every test is one of forked workers. Nothing imports this package,
// and it imports nothing of this module.
package tests
