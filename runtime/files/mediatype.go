package files

import (
	"io"
	"net/http"

	"pinion/runtime/mediatype"
)

// typeOf returns the media type of a file, by its extension or else by its first bytes.
func typeOf(name string, content io.ReaderAt) string {
	if known := mediatype.Of(extensionOf(name)); known != "" {
		return known
	}
	var head [512]byte // as much as DetectContentType reads
	n, err := content.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return "application/octet-stream"
	}
	return http.DetectContentType(head[:n])
}
