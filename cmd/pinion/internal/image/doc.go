// Package image makes a model's image from its cog.yaml.
//
//	New           reads the folder into a Plan; every mistake is a problem with file and line
//	Plan.Text     the Dockerfile
//	Plan.Ignore   its .dockerignore
//	FindBuilder   docker, podman or buildah, the first that works here, or why none does
//	Builder.Build builds a Dockerfile with it
//
// The layers stand in the order in which they change: system packages, Python, packages, commands, weights, code. A
// change of code rebuilds only the last ones, which are small.
package image
