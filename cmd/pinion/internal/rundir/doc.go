// Package rundir owns what a server keeps on disk while it runs: a locked folder below TMPDIR, and the cog package, which is
// cached for the user from one run to the next.
//
// Make removes the folders of servers that are gone. Dir.Path may change when a cleaner of temporary files removed the folder.
package rundir
