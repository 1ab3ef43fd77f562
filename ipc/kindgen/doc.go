// Command kindgen writes the kinds and flags of frames for C and Python, and the names of kinds for Go, by the
// constants Kind… and Flag… of package ipc. 'go generate ./ipc' runs it, and its test fails where that is due. It is a
// package of its own because it is a program.
package main
