package files

import (
	"io"
	"net/http"
	"strings"
)

// mediaType is an extension and a media type that it goes with.
type mediaType struct{ extension, name string }

// mediaTypes is the table of them. Of an extension's types the first is the one to use, and of a type's extensions
// too. The table is our own because the one of package mime depends on the machine, and models look at extensions.
func mediaTypes() []mediaType {
	return []mediaType{
		{".gz", "application/gzip"},
		{".gz", "application/x-gzip"},
		{".tgz", "application/gzip"},
		{".json", "application/json"},
		{".bz2", "application/x-bzip2"},
		{".doc", "application/msword"},
		{".bin", "application/octet-stream"},
		{".pdf", "application/pdf"},
		{".parquet", "application/vnd.apache.parquet"},
		{".pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
		{".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
		{".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{".jsonl", "application/jsonl"},
		{".jsonl", "application/x-ndjson"},
		{".tar", "application/x-tar"},
		{".yaml", "application/yaml"},
		{".yaml", "application/x-yaml"},
		{".yaml", "text/yaml"},
		{".yml", "application/yaml"},
		{".xml", "application/xml"},
		{".xml", "text/xml"},
		{".zip", "application/zip"},
		{".zip", "application/x-zip-compressed"},
		{".aac", "audio/aac"},
		{".flac", "audio/flac"},
		{".flac", "audio/x-flac"},
		{".mid", "audio/midi"},
		{".mid", "audio/x-midi"},
		{".midi", "audio/midi"},
		{".m4a", "audio/mp4"},
		{".m4a", "audio/x-m4a"},
		{".m4a", "audio/m4a"},
		{".mp3", "audio/mpeg"},
		{".mp3", "audio/mp3"},
		{".ogg", "audio/ogg"},
		{".ogg", "application/ogg"},
		{".opus", "audio/opus"},
		{".wav", "audio/wav"},
		{".wav", "audio/x-wav"},
		{".wav", "audio/wave"},
		{".wav", "audio/vnd.wave"},
		{".weba", "audio/webm"},
		{".avif", "image/avif"},
		{".bmp", "image/bmp"},
		{".bmp", "image/x-ms-bmp"},
		{".gif", "image/gif"},
		{".heic", "image/heic"},
		{".jpg", "image/jpeg"},
		{".jpg", "image/jpg"},
		{".jpeg", "image/jpeg"},
		{".png", "image/png"},
		{".svg", "image/svg+xml"},
		{".tiff", "image/tiff"},
		{".tif", "image/tiff"},
		{".ico", "image/vnd.microsoft.icon"},
		{".ico", "image/x-icon"},
		{".webp", "image/webp"},
		{".gltf", "model/gltf+json"},
		{".glb", "model/gltf-binary"},
		{".obj", "model/obj"},
		{".stl", "model/stl"},
		{".css", "text/css"},
		{".csv", "text/csv"},
		{".html", "text/html"},
		{".htm", "text/html"},
		{".js", "text/javascript"},
		{".js", "application/javascript"},
		{".mjs", "text/javascript"},
		{".md", "text/markdown"},
		{".markdown", "text/markdown"},
		{".txt", "text/plain"},
		{".log", "text/plain"},
		{".py", "text/x-python"},
		{".tsv", "text/tab-separated-values"},
		{".ts", "video/mp2t"},
		{".mp4", "video/mp4"},
		{".mpeg", "video/mpeg"},
		{".mpg", "video/mpeg"},
		{".ogv", "video/ogg"},
		{".mov", "video/quicktime"},
		{".webm", "video/webm"},
		{".mkv", "video/x-matroska"},
		{".avi", "video/x-msvideo"},
		{".avi", "video/avi"},
	}
}

// extensionFor is the extension by which a media type goes, or "".
func extensionFor(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, t := range mediaTypes() {
		if t.name == name {
			return t.extension
		}
	}
	return ""
}

// typeOf is the media type of a file with that name and content: by its extension, else by how it begins.
func typeOf(name string, content io.ReaderAt) string {
	extension := strings.ToLower(extensionOf(name))
	for _, t := range mediaTypes() {
		if t.extension == extension {
			return t.name
		}
	}
	var head [512]byte // all that DetectContentType looks at
	n, err := content.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return "application/octet-stream"
	}
	return http.DetectContentType(head[:n])
}
