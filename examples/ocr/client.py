"""Send a picture to a running examples/ocr and print the text that the model read.

    python client.py [--url http://127.0.0.1:5000] [--wait SECONDS] [PICTURE]

Needs nothing but Python. The picture travels inside the request as a `data:` URL, as curl would send it too.
"""

import argparse
import base64
import json
import mimetypes
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

POLL_SECONDS = 0.1
SHOWN = 2000  # characters of an error; it may quote the whole picture


def call(url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """GET the URL, or POST the body to it as JSON, and return the decoded answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        decoded: dict[str, Any] = json.load(answer)
    return decoded


def wait_until_ready(url: str, seconds: float) -> None:
    """Return once the model is set up; exit with the reason where that failed or took longer than `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            health = call(url + "/health-check")
        except (urllib.error.URLError, ConnectionError) as error:
            health = {"status": f"no answer: {error}"}
        if health["status"] in ("READY", "BUSY"):
            return
        if health["status"] in ("SETUP_FAILED", "DEFUNCT"):
            sys.exit(
                f"the model did not start ({health['status']}):\n{health.get('setup', {}).get('logs', '')}"
            )
        if time.monotonic() > deadline:
            sys.exit(f"the model was not ready after {seconds:g} s: {health['status']}")
        time.sleep(POLL_SECONDS)


def data_url(picture: Path) -> str:
    """Return the file as a `data:` URL."""
    kind = mimetypes.guess_type(picture.name)[0] or "application/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(picture.read_bytes()).decode()}"


def read_text(url: str, picture: Path) -> list[str]:
    """Ask the model what the picture says and return its lines; exit with the reason where it failed."""
    try:
        answer = call(url + "/predictions", {"input": {"image": data_url(picture)}})
    except urllib.error.HTTPError as error:
        sys.exit(
            f"the server refused: {error.code} {error.read().decode(errors='replace')[:SHOWN]}"
        )
    if answer["status"] != "succeeded":
        sys.exit(f"the prediction {answer['status']}: {answer.get('error', '')[:SHOWN]}")
    return [line["text"] for line in answer["output"]]


def main() -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(description="Send a picture to examples/ocr, print its text.")
    parser.add_argument("--url", default="http://127.0.0.1:5000", help="default: %(default)s")
    parser.add_argument(
        "--wait",
        type=float,
        default=0,
        metavar="SECONDS",
        help="how long to wait for the model to be ready",
    )
    parser.add_argument(
        "picture", nargs="?", type=Path, default=Path(__file__).with_name("sample.png")
    )
    arguments = parser.parse_args()
    if arguments.wait:
        wait_until_ready(arguments.url, arguments.wait)
    print("\n".join(read_text(arguments.url, arguments.picture)))


if __name__ == "__main__":
    main()
