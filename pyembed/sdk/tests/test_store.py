"""Output files, copied to where the front uploads them from."""

from __future__ import annotations

import gzip
import io
import os
import socket
import tempfile

import pytest

from cog import Path
from cog._worker.values.encode import encode
from cog._worker.values.store import Store
from cog.errors import OutputError

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "up"
    path.mkdir()
    return path


@pytest.fixture
def store(folder):
    return Store(str(folder), "abc")


def content(folder, marker):
    head, _, place = marker.partition("pinion-file:abc:")
    assert head == ""
    return (folder / place).read_bytes()


def test_paths_are_copied_when_they_are_returned(store, folder, tmp_path):
    path = tmp_path / "frame.png"
    markers = []
    for i in range(3):
        path.write_bytes(b"%d" % i)
        markers.append(encode(Path(path), store=store))
    path.unlink()
    assert markers == [f"pinion-file:abc:{i}/frame.png" for i in range(3)]
    assert [content(folder, m) for m in markers] == [b"0", b"1", b"2"]


def test_places_in_an_output(store, tmp_path):
    (tmp_path / "a").write_text("a")
    output = {"items": [Path(tmp_path / "a"), "b"], "more": (os.fspath(tmp_path),)}
    assert encode(output, store=store) == {"items": ["pinion-file:abc:0/a", "b"], "more": [str(tmp_path)]}


def test_large_and_empty_files(store, folder, tmp_path):
    for name, size in (("empty", 0), ("large", (5 << 20) + 1)):
        data = os.urandom(size)
        (tmp_path / name).write_bytes(data)
        assert content(folder, store(Path(tmp_path / name))) == data


def test_a_file_that_says_it_is_empty(store, folder):
    assert content(folder, store(Path("/proc/self/cmdline"))) != b""


def test_what_is_no_regular_file(store, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.fspath(tmp_path / "socket"))
        for path, kind in (
            (tmp_path / "pipe", "a named pipe"),
            (tmp_path / "socket", "a socket"),
            ("/dev/zero", "a device"),
            ("/dev/null", "a device"),
        ):
            for way in (store, None):
                with pytest.raises(OutputError, match=f"is {kind}; only regular files"):
                    encode(Path(path), store=way)
    with open("/dev/zero", "rb") as zeroes:
        for way in (store, None):
            with pytest.raises(OutputError, match="'/dev/zero' is a device"):
                encode(zeroes, store=way)


def test_a_link_to_a_device(store, tmp_path):
    (tmp_path / "link").symlink_to("/dev/zero")
    with pytest.raises(OutputError, match="link' is a device"):
        encode(Path(tmp_path / "link"), store=store)


def test_copying_where_the_kernel_does_not(store, folder, tmp_path, monkeypatch):
    def refuse(*args):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "copy_file_range", refuse)
    data = os.urandom(3 << 20)
    (tmp_path / "f").write_bytes(data)
    assert content(folder, store(Path(tmp_path / "f"))) == data


class TestFileObjects:
    def test_without_a_name(self, store, folder):
        marker = store(io.BytesIO(PNG))
        assert marker == "pinion-file:abc:0/0.png"
        assert content(folder, marker) == PNG
        assert store(io.BytesIO(b"?")) == "pinion-file:abc:1/1.bin"
        marker = store(io.StringIO("täxt"))
        assert marker == "pinion-file:abc:2/2.txt"
        assert content(folder, marker) == "täxt".encode()

    def test_their_numbers_are_their_own(self, store, tmp_path):
        (tmp_path / "a.png").write_bytes(PNG)
        assert store(Path(tmp_path / "a.png")) == "pinion-file:abc:0/a.png"
        assert store(io.BytesIO(PNG)) == "pinion-file:abc:1/0.png"
        assert store(io.BytesIO(PNG)) == "pinion-file:abc:2/1.png"

    def test_as_the_model_left_them(self, store, folder, tmp_path):
        file = open(tmp_path / "x.bin", "wb+")  # noqa: SIM115
        file.write(b"written")  # still in its buffer, and its position is at the end
        marker = store(file)
        assert marker == "pinion-file:abc:0/x.bin"
        assert content(folder, marker) == b"written"
        assert file.tell() == 7
        file.close()
        assert content(folder, store(file)) == b"written"

    def test_for_writing_only(self, store, folder, tmp_path):
        with open(tmp_path / "w.bin", "wb") as file:
            file.write(b"w")
            assert content(folder, store(file)) == b"w"

    def test_text(self, store, folder, tmp_path):
        (tmp_path / "t.txt").write_text("ä", encoding="latin-1")
        with open(tmp_path / "t.txt", encoding="latin-1") as file:
            assert content(folder, store(file)) == "ä".encode()

    def test_temporary(self, store, folder):
        with tempfile.NamedTemporaryFile(suffix=".wav") as file:
            file.write(b"RIFF")
            marker = store(file)
            assert marker.endswith(".wav")
            assert content(folder, marker) == b"RIFF"
        with tempfile.TemporaryFile() as file:  # its name is a number
            file.write(PNG)
            marker = store(file)
            assert marker == "pinion-file:abc:1/0.png"
            assert content(folder, marker) == PNG

    def test_that_stand_for_another_content(self, store, folder, tmp_path):
        path = tmp_path / "z.gz"
        path.write_bytes(gzip.compress(b"inside"))
        with gzip.open(path) as file:
            assert content(folder, store(file)) == b"inside"


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        (b"plain.txt", "plain.txt"),
        ("übergröße €.png".encode(), "übergröße €.png"),
        (b'a"b\\c.txt', 'a"b\\c.txt'),
        (b"new\nline.txt", "new_line.txt"),
        (b"latin-\xfc.txt", "latin-�.txt"),
        (b"x" * 251 + b".txt", "x" * 251 + ".txt"),
    ],
)
def test_names(store, folder, tmp_path, name, stored):
    path = os.path.join(os.fsencode(tmp_path), name)
    with open(path, "wb") as file:
        file.write(b"1")
    marker = store(Path(os.fsdecode(path)))
    assert marker == f"pinion-file:abc:0/{stored}"
    marker.encode()
    assert content(folder, marker) == b"1"


@pytest.mark.parametrize("name", ["..", "../../etc/passwd", "/", "", "a\0b", "n" * 300 + ".txt", "é" * 200])
def test_names_of_file_objects_stay_in_the_folder(store, folder, name):
    file = io.BytesIO(b"1")
    file.name = name
    marker = store(file)
    _, _, stored = marker.rpartition("0/")
    assert os.listdir(folder / "0") == [stored]
    assert len(stored.encode()) <= 255


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.txt", r"^output\.a\[0\]: the file 'missing.txt' does not exist$"),
        ("/tmp", r"^output\.a\[0\]: '/tmp' is a folder; return its files, or an archive of them$"),
    ],
)
def test_refusals(store, path, message):
    with pytest.raises(OutputError, match=message):
        encode({"a": [Path(path)]}, store=store)


def test_a_url_that_was_never_fetched_stays_one(store):
    from cog import URLPath

    url = URLPath(source="https://example.com/a.png", filename="a.png", fileobj=io.BytesIO())
    assert store(url) == "https://example.com/a.png"


def test_a_folder_that_was_removed_is_not_made_again(store, folder, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("x")
    os.rmdir(folder)
    with pytest.raises(OutputError, match=r"x\.txt.* was removed while the prediction used it"):
        encode(Path(path), store=store)
    assert not os.path.exists(folder)
