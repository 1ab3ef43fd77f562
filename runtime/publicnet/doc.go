// Package publicnet refuses connections to addresses outside the public Internet, after any name resolution or
// redirect. It is for requests that a client makes the server send. Any package may import it.
package publicnet
