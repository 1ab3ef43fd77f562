// Package ownserver starts a server from this command's own binary, waits until it is ready, and stops it.
package ownserver
