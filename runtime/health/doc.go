// Package health has the types of the health document, the body of GET /health-check. Several packages fill in its
// parts: supervise that of a worker, service that of a model, jobqueue that of the job queue, and the server the rest.
// httpd writes the document unchanged. It is a separate package because none of these may import another.
//
// It imports only the packages whose statistics are members of the document.
package health
