// Package mediatype knows the media types of file name extensions, and the other way round. It does not use package
// mime, whose table depends on the machine, because models check extensions.
package mediatype
