package files

import (
	"io"
	"net/http"
	"strings"
)

// mediaType is an extension and one of its media types.
type mediaType struct{ extension, name string }

// mediaTypes returns the table of extensions. The first type of an extension is used, and the first extension of a
// type. Package mime is not used, whose table depends on the machine: models check extensions.
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
		{".7z", "application/x-7z-compressed"},
		{".dcm", "application/dicom"},
		{".epub", "application/epub+zip"},
		{".geojson", "application/geo+json"},
		{".h5", "application/x-hdf5"},
		{".m3u8", "application/vnd.apple.mpegurl"},
		{".nc", "application/x-netcdf"},
		{".ppt", "application/vnd.ms-powerpoint"},
		{".ps", "application/postscript"},
		{".rtf", "application/rtf"},
		{".srt", "application/x-subrip"},
		{".wasm", "application/wasm"},
		{".xls", "application/vnd.ms-excel"},
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
		{".aif", "audio/x-aiff"},
		{".aif", "audio/aiff"},
		{".au", "audio/basic"},
		{".wma", "audio/x-ms-wma"},
		{".otf", "font/otf"},
		{".ttf", "font/ttf"},
		{".woff2", "font/woff2"},
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
		{".heif", "image/heif"},
		{".pbm", "image/x-portable-bitmap"},
		{".pgm", "image/x-portable-graymap"},
		{".pnm", "image/x-portable-anymap"},
		{".ppm", "image/x-portable-pixmap"},
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
		{".vtt", "text/vtt"},
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
		{".3gp", "video/3gpp"},
		{".3gp", "audio/3gpp"},
		{".flv", "video/x-flv"},
		{".wmv", "video/x-ms-wmv"},
	}
}

// TypeExtension returns the extension of a media type, or "".
func TypeExtension(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, t := range mediaTypes() {
		if t.name == name {
			return t.extension
		}
	}
	return ""
}

// MediaType returns the media type of an extension, as ".png", or "".
func MediaType(extension string) string {
	extension = strings.ToLower(extension)
	for _, t := range mediaTypes() {
		if t.extension == extension {
			return t.name
		}
	}
	return ""
}

// typeOf returns the media type of a file, by its extension or else by its first bytes.
func typeOf(name string, content io.ReaderAt) string {
	if known := MediaType(extensionOf(name)); known != "" {
		return known
	}
	var head [512]byte // as much as DetectContentType reads
	n, err := content.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return "application/octet-stream"
	}
	return http.DetectContentType(head[:n])
}
