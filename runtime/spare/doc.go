// Package spare keeps large byte slices to be used again: for a body of a megabyte, making memory ready (asking for
// it, zeroing it, touching its pages) costs more than a copy of the body does, and bodies of some kilobytes, thousands
// a second, would keep the garbage collector busy.
//
// It is a leaf: any package may import it. What it keeps, the garbage collector may take at any time.
package spare
