package files

import (
	"mime"
	"net/http"
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

// downloadName is the name of a downloaded file: as the URL has it, where that has an extension;
// else as the server calls the file; else the URL's with an extension for the content's type.
func downloadName(first *url.URL, response *http.Response) string {
	name := lastSegment(first)
	if extensionOf(name) != "" {
		return name
	}
	if _, parameters, err := mime.ParseMediaType(response.Header.Get("Content-Disposition")); err == nil {
		if given := safeName(baseName(parameters["filename"])); given != "" {
			name = given
		}
	}
	if extensionOf(name) == "" && response.Request != nil {
		if last := lastSegment(response.Request.URL); extensionOf(last) != "" { // after redirects
			return last
		}
	}
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	return withExtension(name, kind)
}

// lastSegment is the last part of a URL's path as a safe name.
func lastSegment(u *url.URL) string {
	segment := u.EscapedPath()
	segment = segment[strings.LastIndexByte(segment, '/')+1:]
	return safeName(unescape(segment))
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

// extensionFor is the extension by which a media type goes, or "". The table is our own because
// the one of package mime depends on the machine, and models look at extensions.
func extensionFor(kind string) string {
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "application/gzip", "application/x-gzip":
		return ".gz"
	case "application/json":
		return ".json"
	case "application/msword":
		return ".doc"
	case "application/octet-stream":
		return ".bin"
	case "application/pdf":
		return ".pdf"
	case "application/vnd.openxmlformats-officedocument.presentationml.presentation":
		return ".pptx"
	case "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":
		return ".xlsx"
	case "application/vnd.openxmlformats-officedocument.wordprocessingml.document":
		return ".docx"
	case "application/x-ndjson", "application/jsonl":
		return ".jsonl"
	case "application/x-tar":
		return ".tar"
	case "application/x-yaml", "application/yaml", "text/yaml":
		return ".yaml"
	case "application/xml", "text/xml":
		return ".xml"
	case "application/zip", "application/x-zip-compressed":
		return ".zip"
	case "audio/aac":
		return ".aac"
	case "audio/flac", "audio/x-flac":
		return ".flac"
	case "audio/midi", "audio/x-midi":
		return ".mid"
	case "audio/mp4", "audio/x-m4a", "audio/m4a":
		return ".m4a"
	case "audio/mpeg", "audio/mp3":
		return ".mp3"
	case "audio/ogg", "application/ogg":
		return ".ogg"
	case "audio/opus":
		return ".opus"
	case "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return ".wav"
	case "audio/webm":
		return ".weba"
	case "image/avif":
		return ".avif"
	case "image/bmp", "image/x-ms-bmp":
		return ".bmp"
	case "image/gif":
		return ".gif"
	case "image/heic":
		return ".heic"
	case "image/jpeg", "image/jpg":
		return ".jpg"
	case "image/png":
		return ".png"
	case "image/svg+xml":
		return ".svg"
	case "image/tiff":
		return ".tiff"
	case "image/vnd.microsoft.icon", "image/x-icon":
		return ".ico"
	case "image/webp":
		return ".webp"
	case "model/gltf+json":
		return ".gltf"
	case "model/gltf-binary":
		return ".glb"
	case "model/obj":
		return ".obj"
	case "model/stl":
		return ".stl"
	case "text/css":
		return ".css"
	case "text/csv":
		return ".csv"
	case "text/html":
		return ".html"
	case "text/javascript", "application/javascript":
		return ".js"
	case "text/markdown":
		return ".md"
	case "text/plain":
		return ".txt"
	case "text/tab-separated-values":
		return ".tsv"
	case "video/mp2t":
		return ".ts"
	case "video/mp4":
		return ".mp4"
	case "video/mpeg":
		return ".mpeg"
	case "video/ogg":
		return ".ogv"
	case "video/quicktime":
		return ".mov"
	case "video/webm":
		return ".webm"
	case "video/x-matroska":
		return ".mkv"
	case "video/x-msvideo", "video/avi":
		return ".avi"
	}
	return ""
}
