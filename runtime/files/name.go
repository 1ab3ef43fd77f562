package files

import (
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the longest name of a file, in bytes; file systems allow 255, and models like to
// append to names.
const maxName = 150

// maxFolderName is how much of a prediction's id its folder shows.
const maxFolderName = 40

// folderName is the readable part of a prediction's folder. Ids are chosen by clients, so only
// plain characters of them are used; what makes the name unique comes after it.
func folderName(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, id[:min(len(id), maxFolderName)])
}

// safeName is name as the name of a file in a folder: no separators, nothing that a terminal or a
// shell's pattern would hide, and not too long. "" means that nothing of it is left.
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
	n := maxName - len(extension)
	for n > 0 && !utf8.RuneStart(name[n]) {
		n--
	}
	return strings.TrimRight(name[:n], ". ") + extension
}

// extensionOf is the extension of name with its dot, or "" where what follows the last dot is none.
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

// downloadName is the name of a downloaded file: as the URL has it. Where that has no extension there is none, as with Cog: what a
// server says of the file is in no URL, and a model may go by the name.
func downloadName(first *url.URL) string {
	if name := lastSegment(first); name != "" {
		return name
	}
	return "file"
}

// lastSegment is the last part of a URL's path as a safe name, without parameters behind the extension (cat.png;v=2).
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

// baseName is what follows the last separator of either kind.
func baseName(name string) string {
	return name[strings.LastIndexAny(name, `/\`)+1:]
}

// withExtension gives name the extension of a media type where it has none; "" becomes "file".
func withExtension(name, kind string) string {
	if name == "" {
		name = "file"
	}
	if extensionOf(name) != "" {
		return name
	}
	return name + extensionFor(kind)
}
