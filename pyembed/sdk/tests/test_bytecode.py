"""The package's bytecode is written even if no other is."""

import os
import shutil
import subprocess
import sys

from programs import SDK, python


def test_bytecode_of_the_package_alone(tmp_path):
    shutil.copytree(os.path.join(SDK, "cog"), tmp_path / "cog", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "model.py").touch()
    code = (
        "import sys; from cog._worker.serve import bytecode; before = sys.dont_write_bytecode; "
        f"bytecode.cache_bytecode({str(tmp_path / 'cog')!r}); "
        "import model, cog.errors, cog._worker.schema.types\n"
        "assert before and sys.dont_write_bytecode"
    )
    subprocess.run([sys.executable, "-S", "-B", "-c", code], check=True, cwd=tmp_path)
    written = sorted(path.name.partition(".")[0] for path in tmp_path.rglob("*.pyc"))
    assert written == ["__init__", "errors", "types"]


def test_a_broken_module_is_not_cached_and_leaves_the_setting(tmp_path):
    (tmp_path / "broken.py").write_text("not Python at all\n")
    code = (
        "import sys; from cog._worker.serve import bytecode\n"
        f"folder = {str(tmp_path)!r}; bytecode.cache_bytecode(folder); sys.path.insert(0, folder)\n"
        "try: import broken\n"
        "except SyntaxError: print(sys.dont_write_bytecode)"
    )
    assert python(code, flags=("-S", "-B")).stdout == "True\n"
