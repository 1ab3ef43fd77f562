// Package builder runs the program that builds images: docker, podman or buildah.
//
//	Find    the first that works here, or why none does
//	Build   builds a Dockerfile with it
package builder
