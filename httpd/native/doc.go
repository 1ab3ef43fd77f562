// Package native is the routes of Cog's prediction API: it reads a request, has it placed, and answers as the client asked.
// Guarantees are those of package httpd, which mounts it. Package host streams and runs the jobs of other protocols by it.
package native
