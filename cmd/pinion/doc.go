// Command pinion serves a Python model over HTTP. The same binary is the front and, started again by
// it with a role in its environment, the worker that embeds Python.
//
// This package has the roles of the binary; its commands are in package cli. No other package imports pyembed.
package main
