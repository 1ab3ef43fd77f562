"""Media types of files, by name and by content."""

from __future__ import annotations

_UNKNOWN = "application/octet-stream"

# The standard library's mimetypes reads files of the machine at hand, so that
# the same model would answer differently elsewhere; it comes last here.
_BY_SUFFIX = {
    "aac": "audio/aac",
    "avi": "video/x-msvideo",
    "avif": "image/avif",
    "bin": _UNKNOWN,
    "bmp": "image/bmp",
    "ckpt": _UNKNOWN,
    "css": "text/css",
    "csv": "text/csv",
    "flac": "audio/flac",
    "gif": "image/gif",
    "glb": "model/gltf-binary",
    "gltf": "model/gltf+json",
    "gz": "application/gzip",
    "heic": "image/heic",
    "htm": "text/html",
    "html": "text/html",
    "ico": "image/vnd.microsoft.icon",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "js": "text/javascript",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "m4a": "audio/mp4",
    "md": "text/markdown",
    "mid": "audio/midi",
    "mkv": "video/x-matroska",
    "mov": "video/quicktime",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "npy": _UNKNOWN,
    "npz": "application/zip",
    "obj": "model/obj",
    "ogg": "audio/ogg",
    "onnx": _UNKNOWN,
    "opus": "audio/ogg",
    "pdf": "application/pdf",
    "ply": _UNKNOWN,
    "png": "image/png",
    "pt": _UNKNOWN,
    "pth": _UNKNOWN,
    "safetensors": _UNKNOWN,
    "srt": "application/x-subrip",
    "stl": "model/stl",
    "svg": "image/svg+xml",
    "tar": "application/x-tar",
    "tgz": "application/gzip",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "tsv": "text/tab-separated-values",
    "txt": "text/plain",
    "vtt": "text/vtt",
    "wav": "audio/wav",
    "webm": "video/webm",
    "webp": "image/webp",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "zip": "application/zip",
}

_BY_START = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"%PDF-", "application/pdf"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"glTF", "model/gltf-binary"),
    (b"\x1f\x8b", "application/gzip"),
    (b"PK\x03\x04", "application/zip"),
)
_RIFF = {b"WAVE": "audio/wav", b"WEBP": "image/webp", b"AVI ": "video/x-msvideo"}
_FTYP = {
    b"avif": "image/avif",
    b"heic": "image/heic",
    b"M4A ": "audio/mp4",
    b"qt  ": "video/quicktime",
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
    return _by_content(start)


def extension(kind: str) -> str:
    """Return an extension for a media type, with its dot; "" where none is known.

    >>> extension("image/png"), extension("application/octet-stream")
    ('.png', '')
    """
    if kind == _UNKNOWN:
        return ""
    for suffix, known in _BY_SUFFIX.items():
        if known == kind:
            return "." + suffix
    return ""


def _by_content(start: bytes) -> str:
    for magic, kind in _BY_START:
        if start.startswith(magic):
            return kind
    if start[:4] == b"RIFF":
        return _RIFF.get(start[8:12], _UNKNOWN)
    if start[4:8] == b"ftyp":
        return _FTYP.get(start[8:12], "video/mp4")
    return _UNKNOWN
