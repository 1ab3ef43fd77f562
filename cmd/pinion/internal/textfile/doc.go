// Package textfile reads files that people wrote: whole, bounded, as UTF-8 without a byte order mark. A file that is
// named in a folder from elsewhere may be of any size, or a device that never ends.
package textfile
