"""Ask the models of tests/models/generative.py by OpenAI's client: ADDRESS CLASS."""

import asyncio
import base64
import sys

import openai

MODEL = {"model": "m"}


def says(text: str) -> dict:
    return {"messages": [{"role": "user", "content": text}]}


TOOL = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}},
}


def raises(kind: type[openai.APIStatusError], code: str | None, call, **arguments) -> None:
    try:
        call(**MODEL, **arguments)
    except kind as error:
        assert error.code == code, (error.code, error.body)
        assert set(error.body) == {"message", "type", "param", "code"}, error.body
    else:
        raise AssertionError(f"{kind.__name__} was not raised for {arguments}")


def chat(client: openai.OpenAI) -> None:
    create = client.chat.completions.create
    answer = create(**MODEL, **says("a long text"))
    choice = answer.choices[0]
    assert (choice.message.content, choice.finish_reason) == ("a long text", "length"), choice
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (1, 3), answer.usage

    choice = create(**MODEL, **says("?"), tools=[TOOL], tool_choice="auto").choices[0]
    call = choice.message.tool_calls[0]
    assert choice.finish_reason == "tool_calls" and choice.message.content is None, choice
    assert (call.id, call.type, call.function.name) == ("call_1", "function", "weather"), call
    assert call.function.arguments == '{"city": "Rome"}', call

    parts, reasons = "", []
    for chunk in create(**MODEL, **says("?"), tools=[TOOL], stream=True):
        reasons.append(chunk.choices[0].finish_reason)
        for part in chunk.choices[0].delta.tool_calls or []:
            parts += part.function.arguments or ""
    assert parts == '{"city": "Rome"}' and reasons[-1] == "tool_calls", (parts, reasons)

    chunks = list(create(**MODEL, **says("a b"), stream=True, stream_options={"include_usage": True}))
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == "a b" and chunks[-1].usage.total_tokens == 3, chunks
    assert all(c.usage is None for c in chunks[:-1]), chunks

    refusal = create(**MODEL, **says("refuse")).choices[0].message
    assert refusal.refusal == "no" and refusal.content is None, refusal

    raises(openai.InternalServerError, None, create, **says("fail"))
    raises(openai.NotFoundError, None, client.embeddings.create, input="a")
    raises(openai.BadRequestError, "unsupported_parameter", create, **says("a"), logprobs=True)
    raises(openai.BadRequestError, "invalid_type", create, messages="a")
    raises(openai.BadRequestError, "missing_required_parameter", create, messages=openai.omit, extra_body={})
    raises(openai.BadRequestError, "invalid_value", create, **says("a"), n=0)
    raises(openai.BadRequestError, "unknown_parameter", create, **says("a"), extra_body={"temprature": 1})
    for text in ("a fail", "a bad"):  # after the first chunk
        try:
            list(create(**MODEL, **says(text), n=2, stream=True))
        except openai.APIError as error:
            assert error.type == "server_error", error
        else:
            raise AssertionError("the stream has no error")


async def chat_async(address: str) -> None:
    async with openai.AsyncOpenAI(base_url=address, api_key="any", max_retries=0) as client:
        create = client.chat.completions.create
        answers = await asyncio.gather(*(create(**MODEL, **says(f"t {n}")) for n in range(4)))
        assert [a.choices[0].message.content for a in answers] == [f"t {n}" for n in range(4)]
        stream = await create(**MODEL, **says("a b c"), stream=True)
        text = [c.choices[0].delta.content async for c in stream]
        assert text == ["", "a", " b", " c", None], text
        endless = await create(**MODEL, **says("a forever"), stream=True)
        async for chunk in endless:
            if chunk.choices[0].delta.content:
                break
        await endless.close()  # which cancels: the only slot is free for the next one
        assert (await create(**MODEL, **says("b"))).choices[0].message.content == "b"


def embedder(client: openai.OpenAI) -> None:
    for encoding in ("float", "base64", openai.omit):
        answer = client.embeddings.create(**MODEL, input=["a", "bcd"], encoding_format=encoding)
        vectors = [item.embedding for item in answer.data]
        if encoding == "base64":
            import numpy

            vectors = [numpy.frombuffer(base64.b64decode(v), "<f4").tolist() for v in vectors]
        assert [v[:2] for v in vectors] == [[1.0, 0.5], [3.0, 0.5]], vectors
        assert abs(vectors[0][2] + 1e-3) < 1e-9, vectors
    raises(openai.BadRequestError, "unsupported_parameter", client.embeddings.create, input="a", dimensions=2)


def transcriber(client: openai.OpenAI) -> None:
    create = client.audio.transcriptions.create
    audio = {"file": ("talk.wav", b"one two")}
    assert create(**MODEL, **audio).text == "one two"
    assert create(**MODEL, **audio, response_format="text") == "one two"
    verbose = create(**MODEL, **audio, response_format="verbose_json", language="de")
    assert (verbose.language, verbose.duration) == ("de", 1.5), verbose
    assert [s.text for s in verbose.segments] == ["one", "two"], verbose
    assert create(**MODEL, **audio, response_format="srt").startswith("1\n00:00:00,000 --> 00:00:00,500\none\n")
    raises(openai.BadRequestError, "invalid_value", create, **audio, response_format="mp3")


def dictation(client: openai.OpenAI) -> None:
    stream = client.audio.transcriptions.create(**MODEL, file=("talk.wav", b"one two"), stream=True)
    events = [(e.type, getattr(e, "delta", None) or e.text) for e in stream]
    assert events == [
        ("transcript.text.delta", "one"),
        ("transcript.text.delta", " two"),
        ("transcript.text.done", "one two"),
    ], events


def painter(client: openai.OpenAI) -> None:
    answer = client.images.generate(**MODEL, prompt="a pixel", n=2)
    images = [base64.b64decode(item.b64_json) for item in answer.data]
    assert len(images) == 2 and all(image.startswith(b"\x89PNG") for image in images)
    answer = client.images.generate(**MODEL, prompt="a pixel", response_format="url")
    assert answer.data[0].url.startswith("data:image/png;base64,"), answer
    raises(openai.BadRequestError, "unsupported_parameter", client.images.generate, prompt="a", size="512x512")
    raises(openai.InternalServerError, None, client.images.generate, prompt="")


def main() -> None:
    address, name = sys.argv[1] + "/v1", sys.argv[2]
    client = openai.OpenAI(base_url=address, api_key="any", max_retries=0)
    {
        "Chat": chat,
        "Embedder": embedder,
        "Transcriber": transcriber,
        "Dictation": dictation,
        "Painter": painter,
    }[name](client)
    if name == "Chat":
        asyncio.run(chat_async(address))


main()
