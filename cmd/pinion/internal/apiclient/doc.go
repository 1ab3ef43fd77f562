// Package apiclient makes one prediction at a running server, for the commands that take a URL.
package apiclient
