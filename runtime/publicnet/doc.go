// Package publicnet keeps connections away from addresses that are not of the public Internet, whatever name or redirect
// led there. It is for requests that a client makes the server send. Any package may import it.
package publicnet
