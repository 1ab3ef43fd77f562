package files

import (
	"cmp"
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"pinion/runtime/logtext"
)

// maxName bounds a file name, in bytes. File systems allow 255, and models may append to names.
const maxName = 150

// maxFolderName is how many bytes of a prediction's id are in its folder's name.
const maxFolderName = 40

// folderName returns the readable part of a folder's name. Clients choose ids, so only plain characters are used. A
// unique suffix follows it.
func folderName(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, id[:min(len(id), maxFolderName)])
}

// safeName returns a safe file name: without separators and characters that a terminal or a shell pattern would hide,
// and not too long. It returns "" if no character remains.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r == '/' || r == '\\' || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	name = strings.TrimLeft(name, ". ")
	name = strings.TrimRight(name, ". ")
	if len(name) <= maxName {
		return name
	}
	extension := extensionOf(name)
	return strings.TrimRight(logtext.Head(name, maxName-len(extension)), ". ") + extension
}

// extensionOf returns the extension of name with its dot, or "".
func extensionOf(name string) string {
	extension := filepath.Ext(name)
	if len(extension) < 2 || len(extension) > 16 || len(extension) == len(name) {
		return ""
	}
	for _, c := range []byte(extension[1:]) {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c != '_' && c != '-' {
			return ""
		}
	}
	return extension
}

// downloadName returns the name of a downloaded file, from its URL. Without an extension in the URL it has none, as
// with Cog, even if the server sends a media type.
func downloadName(first *url.URL) string {
	if name := lastSegment(first); name != "" {
		return name
	}
	return "file"
}

// lastSegment returns the last part of a URL's path as a safe name, without parameters after the extension
// (cat.png;v=2).
func lastSegment(u *url.URL) string {
	segment := u.EscapedPath()
	segment = segment[strings.LastIndexByte(segment, '/')+1:]
	name := safeName(unescape(segment))
	if before, _, found := strings.Cut(segment, ";"); found && extensionOf(name) == "" {
		if bare := safeName(unescape(before)); extensionOf(bare) != "" {
			return bare
		}
	}
	return name
}

// baseName returns the part after the last slash or backslash.
func baseName(name string) string {
	return name[strings.LastIndexAny(name, `/\`)+1:]
}

// withExtension adds the extension of a media type if name has none; "" becomes "file".
func withExtension(name, kind string) string {
	name = cmp.Or(name, "file")
	if extensionOf(name) != "" {
		return name
	}
	return name + TypeExtension(kind)
}
