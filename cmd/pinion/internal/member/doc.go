// Package member gives HTTP, health and metrics a member of the job queue in the shapes that they ask for. A server and
// a gateway use it.
package member
