// Command kindgen writes the kinds and flags of frames for C and Python, and the names of kinds for Go, from the
// constants Kind… and Flag… of package ipc. 'go generate ./ipc' runs it, and its test fails if the files are out of
// date. It is a separate package because it is a program.
package main
