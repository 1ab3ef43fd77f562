"""The types of files that models import."""

import http.server
import io
import pathlib
import pickle
import threading

import pytest

from cog import File, Path, URLFile, URLPath


class TestPath:
    def test_is_a_posix_path(self):
        path = Path("/a") / "b.txt"
        assert isinstance(path, pathlib.PosixPath)
        assert type(path) is Path
        assert type(path.parent) is Path
        assert pickle.loads(pickle.dumps(path)) == path

    def test_validate(self, tmp_path):
        assert Path.validate("/a") == Path("/a")
        assert Path.validate(tmp_path) is tmp_path
        url = Path.validate("data:text/plain;base64,aGk=")
        assert isinstance(url, URLPath)
        assert str(url) == "data:text/plain;base64,aGk="

    def test_url_path_converts_once(self):
        path = URLPath(source="http://x.test/a.txt", filename="a.txt", fileobj=io.BytesIO(b"hi"))
        local = path.convert()
        assert local.read_bytes() == b"hi"
        assert local.name.endswith("a.txt")
        assert path.convert() is local
        path.unlink()
        assert not local.exists()
        path.unlink()
        assert repr(path) == "URLPath('http://x.test/a.txt')"
        assert str(pickle.loads(pickle.dumps(path))) == "http://x.test/a.txt"

    @pytest.mark.parametrize(
        ("url", "name"),
        [
            ("https://x.test/dir/a%20b.png?sig=1#f", "a b.png"),
            ("https://x.test/", ""),
            ("https://x.test/a%2Fb", "a_b"),
            ("data:image/png;base64,iVBORw0KGgo=", "file.png"),
            ("data:,a", "file.txt"),
            ("https://x.test/" + "ä" * 300 + ".png", None),
        ],
    )
    def test_file_names(self, url, name):
        found = Path.validate(url).filename
        assert len(found.encode()) <= 204
        assert "/" not in found
        if name is not None:
            assert found == name


class TestFile:
    def test_validate(self, tmp_path):
        (tmp_path / "a").write_bytes(b"abc")
        assert File.validate(str(tmp_path / "a")).read() == b"abc"
        assert File.validate("data:text/plain,a%20b").read() == b"a b"
        handle = io.BytesIO()
        assert File.validate(handle) is handle
        with pytest.raises(ValueError, match="comma"):
            File.validate("data:text")

    def test_url_file_reads_on_demand(self, web):
        file = URLFile(web + "/a.txt")
        assert file.name == "a.txt"
        assert file.readable()
        assert file.read(1) == b"/"
        assert file.read() == b"a.txt"
        file.close()
        assert Path.validate(web + "/b.txt").convert().read_bytes() == b"/b.txt"
        again = pickle.loads(pickle.dumps(URLFile("http://x.test/b")))
        assert again.name == "b"
        assert "http://x.test/b" in repr(again)

    @pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://x.test/a", "a"])
    def test_url_file_is_of_http(self, url):
        with pytest.raises(ValueError, match="http"):
            URLFile(url)


@pytest.fixture
def web():
    """Return the address of a server that answers with the path that was asked for."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(self.path)))
            self.end_headers()
            self.wfile.write(self.path.encode())

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
