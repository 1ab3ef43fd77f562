// Package sdk carries the cog package that models import, and writes it where a worker's Python can find it. It is
// apart because Go embeds files only from the folder that they lie in.
//
// It promises: what it writes is what was built in, every file of it; nothing is written elsewhere.
//
// README.md beside this file is about the Python side.
package sdk
