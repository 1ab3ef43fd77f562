// Package version has the version of the binaries. It is separate because both commands use it, and build.sh stamps its
// variables.
package version
