"""Ask tests/models/tools.py:Text by the official client for Python, of line 1 or 2: URL."""

import asyncio
import importlib.metadata
import sys
from typing import Any

import jsonschema

URL = sys.argv[1]


async def check(session: Any, new: bool) -> None:
    """Ask a connected session. Line 2 has other names for what the wire calls alike."""

    def wire(value: Any) -> dict:
        return value.model_dump(by_alias=True, exclude_none=True, mode="json")

    (tool,) = (wire(tool) for tool in (await session.list_tools()).tools)
    assert (tool["name"], tool["title"], tool["description"]) == ("m", "Repeat", "Repeats a text."), tool
    assert tool["annotations"] == {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}, tool
    assert "outputSchema" not in tool, tool
    schema = tool["inputSchema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    properties = schema["properties"]
    assert list(properties) == ["text", "n", "mode", "size", "file"], properties
    assert properties["size"]["type"] == ["integer", "null"], properties
    assert properties["file"]["format"] == "uri", properties
    assert properties["file"]["contentMediaType"] == "text/plain", properties
    assert properties["mode"]["$ref"] == "#/$defs/mode", properties
    assert schema["examples"] == [{"text": "hi", "n": 2}], schema
    assert "x-" not in str(schema) and "nullable" not in str(schema), schema
    jsonschema.validate({"text": "a", "mode": "loud", "size": None}, schema)
    try:
        jsonschema.validate({"text": "a", "mode": "other"}, schema)
        raise AssertionError("an invalid choice is valid")
    except jsonschema.ValidationError:
        pass

    (readme,) = (await session.list_resources()).resources
    assert wire(readme)["title"] == "README of m", readme
    (content,) = (await session.read_resource(readme.uri)).contents
    expected = {"uri": str(readme.uri), "mimeType": "text/markdown", "text": "# Repeat\n"}
    assert wire(content) == expected, content

    said = await session.call_tool("m", {"text": "hi ", "n": 2, "mode": "loud"})
    assert [wire(block) for block in said.content] == [{"type": "text", "text": "HI HI "}], said
    file = "data:text/plain;base64,dGhlcmU="
    said = await session.call_tool("m", {"text": "hi ", "file": file})
    assert said.content[0].text == "hi there", said
    told: list[float] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    said = await session.call_tool("m", {"text": "hi", "n": 3}, progress_callback=tell)
    assert said.content[0].text == "hihihi", said
    for arguments, part in ({"text": "fail"}, "cannot repeat that"), ({"text": "a", "n": -1}, "input n"):
        failed = wire(await session.call_tool("m", arguments))
        assert failed["isError"] and part in failed["content"][0]["text"], failed
    try:
        await session.call_tool("other", {})
        raise AssertionError("an unknown tool answered")
    except Exception as error:
        assert "unknown tool" in str(error), error


async def line_2() -> None:
    from mcp.client.client import Client

    for mode, version in ("auto", "2026-07-28"), ("legacy", "2025-11-25"):
        async with Client(URL, mode=mode) as client:
            assert client.protocol_version == version, client.protocol_version
            assert client.server_info.name == "pinion", client.server_info
            await check(client, True)


async def line_1() -> None:
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(URL) as (read, write, _), ClientSession(read, write) as session:
        began = await session.initialize()
        assert began.serverInfo.name == "pinion" and began.protocolVersion == "2025-11-25", began
        await session.send_ping()
        await check(session, False)


asyncio.run(line_2() if importlib.metadata.version("mcp").startswith("2") else line_1())
