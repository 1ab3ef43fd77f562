// Package dockerfile makes the Dockerfile of a model's image from its cog.yaml.
//
//	New         reads the folder; every mistake is a problem with file and line
//	Text        the Dockerfile
//	Ignore      its .dockerignore
//	LocalWeights whether the build needs the context `weights`
//
// The layers stand in the order in which they change: system packages, Python, packages, commands, weights, code. A
// change of code makes the last ones anew, which are small.
package dockerfile
