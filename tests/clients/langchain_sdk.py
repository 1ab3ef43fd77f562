"""Ask tests/models/generative.py by LangChain, as a server of OpenAI's API: ADDRESS CLASS."""

import asyncio
import sys

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

SERVER = {"model": "m", "base_url": sys.argv[1] + "/v1", "api_key": "any", "max_retries": 0}


@tool
def weather(city: str) -> str:
    """Say how the weather of a city is."""
    return f"it rains in {city}"


def call_tools(model: ChatOpenAI, streams: bool) -> None:
    """Have the model call a tool, and tell it what the tool says."""
    model = model.bind_tools([weather])
    asked = [HumanMessage('call weather {"city": "Rome"}')]
    if streams:
        first, *others = model.stream(asked)
        answer = sum(others, first)
    else:
        answer = model.invoke(asked)
    [call] = answer.tool_calls
    assert (call["name"], call["args"]) == ("weather", {"city": "Rome"}), answer
    said = weather.invoke(call)
    assert isinstance(said, ToolMessage), said
    answer = model.invoke([*asked, answer, said])
    assert answer.text == "the tool said: it rains in Rome", answer


async def chat_async(model: ChatOpenAI) -> None:
    answer = await model.ainvoke("hello")
    assert answer.text == "hello", answer
    text = "".join([chunk.text async for chunk in model.astream("hello")])
    assert text == "hello", text


def agent() -> None:
    for use_responses in (False, True):
        model = ChatOpenAI(**SERVER, use_responses_api=use_responses, temperature=0, stream_usage=True)
        answer = model.invoke([("system", "be short"), ("human", "hello")])
        assert answer.text == "hello", answer
        chunks = list(model.stream("hello"))
        assert "".join(chunk.text for chunk in chunks) == "hello", chunks
        assert any(chunk.usage_metadata for chunk in chunks), chunks
        for streams in (False, True):
            call_tools(model, streams)
        asyncio.run(chat_async(model))


def embedder() -> None:
    model = OpenAIEmbeddings(**SERVER, check_embedding_ctx_length=False)  # else it loads a vocabulary from the internet
    vectors = model.embed_documents(["a", "bcd"])
    assert [vector[0] for vector in vectors] == [1.0, 3.0], vectors
    assert model.embed_query("ab")[0] == 2.0


{"Agent": agent, "Embedder": embedder}[sys.argv[2]]()
