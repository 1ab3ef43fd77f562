// Command pinion serves a Python model over HTTP. The same binary is the front and, started again by
// it with a role in its environment, the worker that embeds Python.
//
// This package is the command: flags, wiring, signals. It is the only one that imports pyembed.
package main
