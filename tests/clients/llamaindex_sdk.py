"""Ask tests/models/generative.py by LlamaIndex, as a server like OpenAI's: ADDRESS CLASS."""

import asyncio
import sys

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike

SERVER = {"api_base": sys.argv[1] + "/v1", "api_key": "any", "max_retries": 0}


def weather(city: str) -> str:
    """Say how the weather of a city is."""
    return f"it rains in {city}"


def says(text: str) -> list[ChatMessage]:
    return [ChatMessage(role="system", content="be short"), ChatMessage(role="user", content=text)]


async def chat_async(model: OpenAILike) -> None:
    answer = await model.achat(says("hello"))
    assert answer.message.content == "hello", answer
    stream = await model.astream_chat(says("hello"))
    text = "".join([chunk.delta or "" async for chunk in stream])
    assert text == "hello", text


def agent() -> None:
    model = OpenAILike(model="m", is_chat_model=True, is_function_calling_model=True, **SERVER)
    answer = model.chat(says("hello"))
    assert answer.message.content == "hello", answer
    text = "".join(chunk.delta or "" for chunk in model.stream_chat(says("hello")))
    assert text == "hello", text
    assert model.complete("hello").text == "hello"
    call = 'call weather {"city": "Rome"}'
    said = model.predict_and_call([FunctionTool.from_defaults(weather)], user_msg=call)
    assert said.response == "it rains in Rome", said
    asyncio.run(chat_async(model))


def embedder() -> None:
    model = OpenAILikeEmbedding(model_name="m", **SERVER)
    vectors = model.get_text_embedding_batch(["a", "bcd"])
    assert [vector[0] for vector in vectors] == [1.0, 3.0], vectors
    assert model.get_query_embedding("ab")[0] == 2.0


def completer() -> None:
    model = OpenAILike(model="m", **SERVER)
    assert model.complete("a prompt").text == "a prompt"
    text = "".join(chunk.delta or "" for chunk in model.stream_complete("a prompt"))
    assert text == "a prompt", text


{"Agent": agent, "Completer": completer, "Embedder": embedder}[sys.argv[2]]()
