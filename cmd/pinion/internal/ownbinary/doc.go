// Package ownbinary is about the binary of this process: how to execute and copy it, whether its file was replaced since, and
// where the program is that is installed with it.
package ownbinary
