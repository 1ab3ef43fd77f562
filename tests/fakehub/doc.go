// Package fakehub is a model hub for tests: one repository, served as the public API of Hugging Face's hub says, with
// files of Git LFS at another host.
package fakehub
