// Package heap keeps the front's garbage collector from running too often, and returns the memory of a busy time to the
// system.
//
// Allocating a block that is never touched raises the collector's trigger. GOGC in the environment switches all of this
// off.
package heap
