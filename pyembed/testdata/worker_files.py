"""Output files that the front uploads."""

from __future__ import annotations

import os
import sys

from front import FAILED, Worker, main, outputs


def test_files():
    source = """
        import io, os, tempfile
        from collections.abc import Iterator
        from cog import Path
        PNG = bytes([137]) + b"PNG\\r\\n" + bytes([26]) + b"\\n" + bytes(100)
        def run(name: str = "a.txt") -> Iterator[Path]:
            path = Path(name)
            for i in range(3):
                path.write_text(f"content {i}")
                yield path
            yield {"nested": [io.BytesIO(PNG)]}
            with open("written.bin", "wb+") as file:
                file.write(b"w" * 100)
                yield file
            big = tempfile.NamedTemporaryFile(suffix=".dat")
            big.write(os.urandom(1 << 20) * 5)
            yield big
            yield io.StringIO("texte")
            yield Path("/proc/self/comm")
            yield Path("missing.txt")
    """
    with Worker(source) as worker:
        folder = f"{worker.root}/uploads"
        os.mkdir(folder)
        files = {"folder": folder, "token": "c0ffee"}
        frames = worker.run({}, files=files)
        items = outputs(frames)
        assert items[:3] == [f"pinion-file:c0ffee:{i}/a.txt" for i in range(3)], items
        for i in range(3):
            with open(f"{folder}/{i}/a.txt") as file:
                assert file.read() == f"content {i}"
        assert items[3] == {"nested": ["pinion-file:c0ffee:3/0.png"]}
        assert os.path.getsize(f"{folder}/3/0.png") == 108
        assert items[4] == "pinion-file:c0ffee:4/written.bin"
        assert os.path.getsize(f"{folder}/4/written.bin") == 100
        assert items[5].startswith("pinion-file:c0ffee:5/tmp")
        assert items[5].endswith(".dat")
        assert os.path.getsize(f"{folder}/{items[5].rpartition(':')[2]}") == 5 << 20
        assert items[6] == "pinion-file:c0ffee:6/1.txt"
        assert items[7] == "pinion-file:c0ffee:7/comm"
        assert os.path.getsize(f"{folder}/7/comm") > 1
        error = frames[-1].value["error"]
        assert error.endswith("output[8]: the file 'missing.txt' does not exist"), error

        # The next prediction counts from 0 again; a list is one output; without `files`: data URLs.
        folder = f"{worker.root}/more"
        os.mkdir(folder)
        frames = worker.run({"name": "b.txt"}, flags=0, files={**files, "folder": folder})
        assert frames[-1].kind == FAILED
        assert os.path.exists(f"{folder}/0/b.txt")
        assert outputs(worker.run({}))[0] == "data:text/plain;base64,Y29udGVudCAw"


if __name__ == "__main__":
    main(sys.modules[__name__])
