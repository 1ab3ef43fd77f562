// Package docs tests that documents, deployment files and examples say what is true.
// Package tests says how.
package docs
