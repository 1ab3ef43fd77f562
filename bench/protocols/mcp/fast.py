"""An echo tool by FastMCP: PORT."""

import sys

from fastmcp import FastMCP

server = FastMCP("echo")


@server.tool
def echo(text: str) -> str:
    """Return the text."""
    return text


server.run(
    transport="http",
    host="127.0.0.1",
    port=int(sys.argv[1]),
    stateless_http=True,
    json_response=True,
    uvicorn_config={"access_log": False, "log_level": "error"},
)
