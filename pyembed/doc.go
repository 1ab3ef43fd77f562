// Package pyembed is the inside of a worker: it turns the process that calls Main into a CPython interpreter that
// serves a model. With Config.Preloader the process serves nothing: it imports the model and forks workers
// (serving_preload.c).
//
// It promises: no Python.h and no linked libpython; one binary for CPython 3.10 to 3.15; Python owns the process's main
// thread; no Go runs while a request is served, and Python never calls into Go, which would hang a forked child; what C
// allocates is counted.
//
// The C files are in storeys, by the beginning of their names: base, codec, channel, process, interpreter, serving. Each
// calls those of its own storey and of lower ones, in no circle (storeys_test.go).
//
// Other C is in its sub-package cuda, in runtime/gpu/nvml, in third_party/cpy3 and in cmd/pinion, which alone imports
// this package. ipc/PROTOCOL.md describes its protocol with the front.
package pyembed
