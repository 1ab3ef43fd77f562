// Package ownbinary is about the binary of this process: how to execute and copy it, and whether its file was replaced since.
package ownbinary
