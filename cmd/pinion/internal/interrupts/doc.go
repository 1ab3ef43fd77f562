// Package interrupts reads the signals by which a user ends a command: SIGINT and SIGTERM. It tells a second request from the
// echo of the first.
package interrupts
