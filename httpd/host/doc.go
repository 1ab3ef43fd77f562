// Package host implements protocol.Host: it reads the bodies of other protocols' requests, runs their jobs, and sends their
// answers and streams, by what serves the native API.
package host
