"""Ask tests/models/generative.py by LiteLLM, as a server of OpenAI's API: ADDRESS CLASS."""

import asyncio
import sys

import litellm

ADDRESS, NAME = sys.argv[1] + "/v1", sys.argv[2]
SERVER = {"model": "openai/m", "api_base": ADDRESS, "api_key": "any", "num_retries": 0}


def says(text: str) -> dict:
    return {"messages": [{"role": "user", "content": text}]}


async def chat_async() -> None:
    stream = await litellm.acompletion(**SERVER, **says("a b"), stream=True)
    text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert text == "a b", text


def chat() -> None:
    answer = litellm.completion(**SERVER, **says("a long text"))
    assert answer.choices[0].message.content == "a long text", answer
    assert answer.choices[0].finish_reason == "length", answer
    assert answer.usage.total_tokens == 4, answer.usage
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
    choice = litellm.completion(**SERVER, **says("?"), tools=[tool]).choices[0]
    assert choice.message.tool_calls[0].function.arguments == '{"city": "Rome"}', choice
    for message, kind in (("fail", litellm.InternalServerError),):
        try:
            litellm.completion(**SERVER, **says(message))
        except kind as error:
            assert "the model failed" in str(error), error
        else:
            raise AssertionError(f"got no error, want {kind.__name__}")
    asyncio.run(chat_async())


def embedder() -> None:
    answer = litellm.embedding(**SERVER, input=["a", "bcd"])
    assert [item["embedding"][0] for item in answer.data] == [1.0, 3.0], answer


def agent() -> None:
    thought = litellm.completion(**{**SERVER, "model": "hosted_vllm/m"}, **says("think")).choices[0].message
    assert thought.reasoning_content == "let me see", thought
    answer = litellm.responses(**SERVER, input="hello")
    assert answer.output[0].content[0].text == "hello", answer
    server = {"model": "anthropic/m", "api_base": sys.argv[1], "api_key": "any"}
    answer = litellm.completion(**server, **says("hello"))
    assert answer.choices[0].message.content == "hello", answer


def ranker() -> None:
    answer = litellm.rerank(
        model="hosted_vllm/m", api_base=sys.argv[1], api_key="any", query="a", documents=["b", "aa"], top_n=2
    )
    assert [result["index"] for result in answer.results] == [1, 0], answer


def dictation() -> None:
    answer = litellm.transcription(**SERVER, file=("a.wav", b"one two"))
    assert answer.text == "one two", answer


def speaking() -> None:
    for format in ({}, {"response_format": "wav"}, {"response_format": "mp3"}):
        answer = litellm.speech(**SERVER, input="a b", voice="alloy", **format)
        assert answer.content == b"ab", answer.content


{
    "Agent": agent, "Chat": chat, "Dictation": dictation, "Embedder": embedder, "Ranker": ranker, "Speaking": speaking,
}[NAME]()
