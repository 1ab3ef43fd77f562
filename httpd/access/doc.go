// Package access decides which requests a server answers: by tokens, by the origin of a page, and by whether a program
// on the same machine asks. It writes the access log.
//
// Package httpd imports it. It knows no models.
package access
