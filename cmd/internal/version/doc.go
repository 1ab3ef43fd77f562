// Package version says which version the binaries are. It is apart because both commands have it, and build.sh stamps
// its variables.
package version
