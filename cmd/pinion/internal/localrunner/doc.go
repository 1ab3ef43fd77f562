// Package localrunner is a server without HTTP: one worker that a command starts for itself, to set a model up and make a
// prediction. It ends when the user interrupts the command.
package localrunner
