// Package listener opens the sockets of a server, TCP or unix, and explains a port that is in use: by which process,
// and which flag or variable chooses another.
package listener
