"""Call tests/models/tools.py:Text as m and Gate as slow by the client of a framework for agents: URL NAME."""

import asyncio
import sys

URL = sys.argv[1]


async def fastmcp() -> None:
    from fastmcp import Client

    async with Client(URL) as client:
        assert [tool.name for tool in await client.list_tools()] == ["m", "slow"]
        told: list[float] = []

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            told.append(progress)

        said = await client.call_tool("m", {"text": "hi ", "n": 2}, progress_handler=tell)
        assert said.content[0].text == "hi hi ", said
        failed = await client.call_tool("m", {"text": "fail"}, raise_on_error=False)
        assert failed.is_error and "cannot repeat that" in failed.content[0].text, failed
        painted = await client.call_tool("slow", {})
        assert painted.content[0].mime_type == "image/png", painted


async def pydantic_ai() -> None:
    from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.models.function import FunctionModel

    def language_model(messages, info):  # type: ignore[no-untyped-def]
        assert sorted(tool.name for tool in info.function_tools) == ["m", "slow"], info
        last = messages[-1].parts[0]
        if last.part_kind == "tool-return":
            return ModelResponse(parts=[TextPart(f"it said {last.content}")])
        return ModelResponse(parts=[ToolCallPart("m", {"text": "hi", "mode": "loud"})])

    agent = Agent(FunctionModel(language_model), toolsets=[MCPToolset(URL)])
    async with agent:
        assert (await agent.run("say hi")).output == "it said HI"


async def openai_agents() -> None:
    from agents.mcp import MCPServerStreamableHttp

    async with MCPServerStreamableHttp(params={"url": URL}) as server:
        assert [tool.name for tool in await server.list_tools()] == ["m", "slow"]
        said = await server.call_tool("m", {"text": "hi", "n": 3})
        assert said.content[0].text == "hihihi", said


async def langchain() -> None:
    from langchain_mcp_adapters.client import MultiServerMCPClient

    client = MultiServerMCPClient({"pinion": {"transport": "streamable_http", "url": URL}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    assert sorted(tools) == ["m", "slow"], tools
    said = await tools["m"].ainvoke({"text": "hi"})
    assert "hi" in str(said), said
    painted = await tools["slow"].ainvoke({})
    assert "iVBORw0KGgo=" in str(painted), painted


clients = {client.__name__: client for client in (fastmcp, pydantic_ai, openai_agents, langchain)}
asyncio.run(clients[sys.argv[2]]())
