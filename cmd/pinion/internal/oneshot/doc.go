// Package oneshot makes single predictions for the commands: in a worker that it starts here, or at a server.
//
//	Runner   a server without HTTP: one worker that is set up for one command, and ends when the user interrupts it
//	Client   a running server, by its URL
//	Server   a server started from this command's own binary, which waits until it is ready, and stops it
package oneshot
