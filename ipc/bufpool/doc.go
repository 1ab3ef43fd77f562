// Package bufpool is a pool of large byte slices. For a body of a megabyte, allocating memory (asking for it, zeroing
// it, touching its pages) costs more than a copy of the body does. Thousands of bodies of a few kilobytes a second
// would keep the garbage collector busy.
//
// It is small because frames and the bodies of requests share the pool: it is a leaf that any package may import. The
// garbage collector may free what it holds at any time.
package bufpool
