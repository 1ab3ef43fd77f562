"""From the files that a model returns to data URLs."""

from __future__ import annotations

import base64
import io
import pathlib
import tempfile

import pytest

from cog import BaseModel, Path, URLPath
from cog._worker.values.encode import encode
from cog.errors import OutputError


class Box(BaseModel):
    left: int
    file: Path | None = None


class TestFiles:
    @staticmethod
    def url(kind, content):
        return f"data:{kind};base64,{base64.b64encode(content).decode()}"

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("a.txt", "text/plain"), ("a.png", "image/png"), ("A.JPG", "image/jpeg"),
            ("a.json", "application/json"), ("a.mp4", "video/mp4"), ("a.wav", "audio/wav"),
            ("a.pt", "application/octet-stream"),
            ("a.safetensors", "application/octet-stream"), ("a.tar.gz", "application/gzip"),
            ("a.unknownsuffix", "application/octet-stream"), ("noname", "application/octet-stream"),
            ("a.rtf", "application/rtf"), (".hidden", "application/octet-stream"),
        ],
    )  # fmt: skip
    def test_type_by_name(self, tmp_path, name, kind):
        (tmp_path / name).write_bytes(b"hello")
        assert encode(Path(tmp_path / name)) == self.url(kind, b"hello")

    @pytest.mark.parametrize(
        ("content", "kind"),
        [
            (b"\x89PNG\r\n\x1a\n...", "image/png"), (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"RIFF....WAVEfmt", "audio/wav"), (b"RIFF....WEBPVP8", "image/webp"),
            (b"RIFF....????", "application/octet-stream"), (b"....ftypisom", "video/mp4"),
            (b"....ftypavif", "image/avif"), (b"%PDF-1.7", "application/pdf"),
            (b"", "application/octet-stream"),
        ],
    )  # fmt: skip
    def test_type_by_content(self, tmp_path, content, kind):
        (tmp_path / "noname").write_bytes(content)
        assert encode(tmp_path / "noname") == self.url(kind, content)
        assert encode(io.BytesIO(content)) == self.url(kind, content)

    def test_anywhere_in_the_output(self, tmp_path):
        file = tmp_path / "a.txt"
        file.write_bytes(b"hi")
        wanted = self.url("text/plain", b"hi")
        found = encode({"a": [Path(file)], "b": Box(1, file), "c": (pathlib.Path(file),)})
        assert found == {"a": [wanted], "b": {"left": 1, "file": wanted}, "c": [wanted]}

    def test_large_file(self, tmp_path):
        content = bytes(range(256)) * 4096
        (tmp_path / "a.bin").write_bytes(content)
        assert encode(tmp_path / "a.bin") == self.url("application/octet-stream", content)

    def test_missing(self, tmp_path):
        with pytest.raises(OutputError, match=r"output\.x\[0\]: the file '/no/such' does not exist"):
            encode({"x": [Path("/no/such")]})

    def test_folder(self, tmp_path):
        with pytest.raises(OutputError, match="is a folder; return its files"):
            encode(tmp_path)

    def test_unreadable_name(self):
        with pytest.raises(OutputError, match="cannot be read"):
            encode(Path("a\0b"))

    def test_url_path_stays_a_url(self):
        path = URLPath(source="http://x.test/a", filename="a", fileobj=io.BytesIO())
        assert encode([path]) == ["http://x.test/a"]

    def test_file_objects(self, tmp_path):
        with open(tmp_path / "a.txt", "w+") as file:
            file.write("grüße")
            assert encode(file) == self.url("text/plain", "grüße".encode())
        assert encode(file) == self.url("text/plain", "grüße".encode())
        with open(tmp_path / "b.txt", "wb") as file:
            file.write(b"x")
            assert encode(file) == self.url("text/plain", b"x")
        with tempfile.NamedTemporaryFile(suffix=".png") as file:
            file.write(b"y")
            assert encode([file]) == [self.url("image/png", b"y")]
        assert encode(io.StringIO("ä")) == self.url("text/plain", "ä".encode())
        half_read = io.BytesIO(b"abc")
        half_read.read(1)
        half_read.name = "x.jpg"
        assert encode(half_read) == self.url("image/jpeg", b"abc")

    def test_a_pipe_is_read_once(self):
        import os

        out, into = os.pipe()
        os.write(into, b"abc")
        os.close(into)
        with open(out, "rb") as file:
            assert encode(file) == self.url("application/octet-stream", b"abc")

    def test_closed_without_a_name(self):
        file = io.BytesIO(b"x")
        file.close()
        with pytest.raises(OutputError, match="is closed, and has no name"):
            encode(file)

    def test_objects_that_only_look_like_files(self):
        class Broken:
            def read(self):
                raise OSError("no disk")

        class Odd:
            def read(self):
                return 3

        with pytest.raises(OutputError, match=r"output\[0\]: the file object .* no disk"):
            encode([Broken()])
        with pytest.raises(OutputError, match="returned int, not bytes"):
            encode(Odd())

    def test_store(self, tmp_path):
        seen = []

        def store(file):
            seen.append(file)
            return f"https://store.test/{len(seen)}"

        files = [Path("/a"), io.BytesIO()]
        assert encode({"x": files}, store=store) == {"x": ["https://store.test/1", "https://store.test/2"]}
        assert seen == files
