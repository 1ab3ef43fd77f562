"""The package's bytecode is kept where that of nothing else is."""

import os
import shutil
import subprocess
import sys

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def test_bytecode_of_the_package_alone(tmp_path):
    shutil.copytree(
        os.path.join(SDK, "cog"), tmp_path / "cog", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "model.py").touch()
    code = (
        "import sys; from cog._worker import kept; before = sys.dont_write_bytecode; "
        f"kept.keep({str(tmp_path / 'cog')!r}, {str(tmp_path / 'cog/_worker')!r}); "
        "import model, cog.errors, cog._worker.kinds; assert before and sys.dont_write_bytecode"
    )
    subprocess.run([sys.executable, "-S", "-B", "-c", code], check=True, cwd=tmp_path)
    written = sorted(path.name.partition(".")[0] for path in tmp_path.rglob("*.pyc"))
    assert written == ["errors", "kinds"]


def test_a_broken_module_is_not_kept_and_leaves_the_wish_as_it_was(tmp_path):
    (tmp_path / "broken.py").write_text("this is no Python\n")
    code = (
        "import sys; from cog._worker import kept\n"
        f"folder = {str(tmp_path)!r}; kept.keep(folder); sys.path.insert(0, folder)\n"
        "try: import broken\n"
        "except SyntaxError: print(sys.dont_write_bytecode)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-B", "-c", code],
        check=True,
        env={"PYTHONPATH": SDK},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "True\n"
