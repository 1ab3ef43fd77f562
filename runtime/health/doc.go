// Package health is the shape of the health document, the body of GET /health-check. Each part is filled in by the
// package that knows it: a worker by supervise, a model by service, the job queue by jobqueue, the rest by the server.
// httpd writes the document as it is. None of these may import another for it, so it is a package of its own.
//
// It imports only the packages whose statistics are members of the document.
package health
