"""A command line tool is called for the work, as with ffmpeg; the tool here is a script beside the model."""

import json
import subprocess
import sys

from cog import BaseRunner, Path


class Runner(BaseRunner):
    def setup(self) -> None:
        version = subprocess.check_output([sys.executable, "tool.py", "--version"], text=True)
        print("tool", version.strip())

    def run(self, file: Path, fail: bool = False) -> Path:
        out = Path("converted.txt")
        command = [sys.executable, "tool.py", str(file), str(out)] + ["--fail"] * fail
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                progress = json.loads(line)
                print(f"{progress['percent']} %")
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, "tool.py")
        return out
