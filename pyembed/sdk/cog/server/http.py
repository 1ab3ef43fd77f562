"""``python -m cog.server.http``, as start scripts have it: becomes `pinion serve` in that folder.

It executes the program that ``PINION_BINARY`` names, else `pinion` on the PATH, which serves with
this interpreter. Other settings, for example ``PORT``, are in the environment or in cog.yaml.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_YES, _NO = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off", ""})


def main(given: Sequence[str] | None = None) -> None:
    """Take the flags of Cog's server and become the other one; return only with an error."""
    options = _parser().parse_args(given)
    binary = os.environ.get("PINION_BINARY") or shutil.which("pinion")
    if not binary:
        sys.exit(
            "cog.server.http: cannot find pinion on the PATH; "
            "install it there, or set PINION_BINARY to its path"
        )
    command = [binary, *_command(options)]
    try:
        os.execv(binary, command)  # noqa: S606, it is to replace this process
    except OSError as error:
        sys.exit(f"cog.server.http: cannot run {binary}: {error.strerror}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m cog.server.http", description="Cog HTTP server")
    parser.add_argument("-v", "--version", action="store_true", help="show the version and exit")
    parser.add_argument("--host", help="address to listen on (default: PINION_HOST, else 0.0.0.0)")
    parser.add_argument(
        "--await-explicit-shutdown",
        type=_boolean,
        default=False,
        help="ignore SIGTERM: wait for POST /shutdown or SIGINT",
    )
    parser.add_argument("--x-mode", choices=["predict", "train"], help="which function to serve")
    parser.add_argument(
        "--threads", type=int, help="ignored: the model sets how many predictions run at once"
    )
    parser.add_argument("--upload-url", help="where output files are uploaded")
    return parser


def _boolean(text: str) -> bool:
    word = text.lower()
    if word in _YES or word in _NO:
        return word in _YES
    raise argparse.ArgumentTypeError(f"must be true or false, got {text!r}")


def _command(options: argparse.Namespace) -> list[str]:
    if options.version:
        return ["version"]
    command = ["serve", "--python", sys.executable]
    if options.host is None and not os.environ.get("PINION_HOST"):
        # Start scripts of Cog's server expect that it is reached from other machines.
        options.host = "0.0.0.0"  # noqa: S104
    for name in ("host", "x_mode", "upload_url"):
        value = getattr(options, name)
        if value is not None:
            command += ["--" + name.replace("_", "-"), value]
    if options.await_explicit_shutdown:
        command.append("--await-explicit-shutdown")
    return command


if __name__ == "__main__":
    main()
