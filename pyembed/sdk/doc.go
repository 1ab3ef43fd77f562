// Package sdk carries the cog package that models import, and writes it where a worker's Python can find it. It is a
// separate package because Go embeds files only from the package's own folder.
//
// It promises: Write writes every file that was built in, unchanged, and nothing elsewhere.
//
// README.md beside this file is about the Python side.
package sdk
