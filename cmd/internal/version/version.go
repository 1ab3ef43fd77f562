package version

// The version of Pinion, its commit and when that was made. build.sh stamps them.
var (
	Pinion = "dev"
	Commit = "unknown"
	Date   = "unknown"
)

// Cog is the version of the cog interface that the SDK implements.
const Cog = "0.23.1"

// Build is the version with the commit: binaries of one build have the same.
func Build() string { return Pinion + " (commit " + Commit + ")" }
