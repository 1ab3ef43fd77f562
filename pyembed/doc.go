// Package pyembed is a worker's inside: it turns the process that calls Main into a CPython
// interpreter that serves a model. All of cgo and C of the project is here, in its sub-package cuda,
// and in third_party/cpy3.
//
// It promises: no Python.h and no linked libpython; one binary for CPython 3.10 and up; Python owns
// the process's main thread; no Go runs in the serving of a request, and Python never calls into Go
// (a forked child that did would hang); what C allocates is counted.
//
// A template (px_template.c) is such a process that serves nothing: it imports the model and forks workers.
//
// Only cmd imports it. Its C side of the protocol with the front is described in ipc/PROTOCOL.md.
package pyembed
