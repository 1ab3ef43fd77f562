"""Media types of files, by name and by content."""

from __future__ import annotations

_UNKNOWN = "application/octet-stream"

# mimetypes reads files of this machine, so the same model would answer differently
# elsewhere. It comes last.
_BY_SUFFIX = {
    "3gp": "video/3gpp",
    "7z": "application/x-7z-compressed",
    "aac": "audio/aac",
    "aif": "audio/x-aiff",
    "au": "audio/basic",
    "avi": "video/x-msvideo",
    "avif": "image/avif",
    "bin": _UNKNOWN,
    "bmp": "image/bmp",
    "bz2": "application/x-bzip2",
    "ckpt": _UNKNOWN,
    "css": "text/css",
    "csv": "text/csv",
    "dcm": "application/dicom",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "epub": "application/epub+zip",
    "flac": "audio/flac",
    "flv": "video/x-flv",
    "geojson": "application/geo+json",
    "gif": "image/gif",
    "glb": "model/gltf-binary",
    "gltf": "model/gltf+json",
    "gz": "application/gzip",
    "h5": "application/x-hdf5",
    "heic": "image/heic",
    "heif": "image/heif",
    "htm": "text/html",
    "html": "text/html",
    "ico": "image/vnd.microsoft.icon",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "js": "text/javascript",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "log": "text/plain",
    "m3u8": "application/vnd.apple.mpegurl",
    "m4a": "audio/mp4",
    "markdown": "text/markdown",
    "md": "text/markdown",
    "mid": "audio/midi",
    "midi": "audio/midi",
    "mjs": "text/javascript",
    "mkv": "video/x-matroska",
    "mov": "video/quicktime",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "mpeg": "video/mpeg",
    "mpg": "video/mpeg",
    "nc": "application/x-netcdf",
    "npy": _UNKNOWN,
    "npz": "application/zip",
    "obj": "model/obj",
    "ogg": "audio/ogg",
    "ogv": "video/ogg",
    "onnx": _UNKNOWN,
    "opus": "audio/opus",
    "parquet": "application/vnd.apache.parquet",
    "pbm": "image/x-portable-bitmap",
    "pdf": "application/pdf",
    "pgm": "image/x-portable-graymap",
    "ply": _UNKNOWN,
    "png": "image/png",
    "pnm": "image/x-portable-anymap",
    "ppm": "image/x-portable-pixmap",
    "ppt": "application/vnd.ms-powerpoint",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "ps": "application/postscript",
    "pt": _UNKNOWN,
    "pth": _UNKNOWN,
    "py": "text/x-python",
    "rtf": "application/rtf",
    "safetensors": _UNKNOWN,
    "srt": "application/x-subrip",
    "stl": "model/stl",
    "svg": "image/svg+xml",
    "tar": "application/x-tar",
    "tgz": "application/gzip",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "ts": "video/mp2t",
    "tsv": "text/tab-separated-values",
    "otf": "font/otf",
    "ttf": "font/ttf",
    "txt": "text/plain",
    "vtt": "text/vtt",
    "wasm": "application/wasm",
    "wav": "audio/wav",
    "weba": "audio/webm",
    "webm": "video/webm",
    "webp": "image/webp",
    "wma": "audio/x-ms-wma",
    "wmv": "video/x-ms-wmv",
    "woff2": "font/woff2",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "zip": "application/zip",
}

_BY_START = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"BM", "bmp"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"%PDF-", "pdf"),
    (b"OggS", "ogg"),
    (b"fLaC", "flac"),
    (b"ID3", "mp3"),
    (b"\xff\xfb", "mp3"),
    (b"\x1aE\xdf\xa3", "webm"),
    (b"glTF", "glb"),
    (b"\x1f\x8b", "gz"),
    (b"PK\x03\x04", "zip"),
)
_RIFF = {b"WAVE": "wav", b"WEBP": "webp", b"AVI ": "avi"}
_FTYP = {
    b"avif": "avif",
    b"heic": "heic",
    b"M4A ": "m4a",
    b"qt  ": "mov",
}


def media_type(name: str, start: bytes) -> str:
    """Return the media type of a file from its name, else from its first bytes.

    >>> media_type("photo.JPG", b""), media_type("noname", b"GIF89a...")
    ('image/jpeg', 'image/gif')
    """
    suffix = name.rpartition("/")[2].rpartition(".")[2].lower() if "." in name else ""
    if suffix:
        known = _BY_SUFFIX.get(suffix)
        if known is not None:
            return known
        import mimetypes

        guessed, encoding = mimetypes.guess_type("x." + suffix)
        if guessed is not None and encoding is None:
            return guessed
    return _BY_SUFFIX.get(_suffix_by_content(start), _UNKNOWN)


def extension(start: bytes) -> str:
    """Return the extension that suits a file's first bytes, with its dot; "" where none is known.

    >>> extension(b"GIF89a..."), extension(b"?")
    ('.gif', '')
    """
    suffix = _suffix_by_content(start)
    return "." + suffix if suffix else ""


def _suffix_by_content(start: bytes) -> str:
    for magic, suffix in _BY_START:
        if start.startswith(magic):
            return suffix
    if start[:4] == b"RIFF":
        return _RIFF.get(start[8:12], "")
    if start[4:8] == b"ftyp":
        return _FTYP.get(start[8:12], "mp4")
    return ""
