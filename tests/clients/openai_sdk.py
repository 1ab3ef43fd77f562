"""Ask the models of tests/models/generative.py by OpenAI's client: ADDRESS CLASS."""

import asyncio
import base64
import json
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import httpx
import openai
from openai.types.chat.completion_create_params import CompletionCreateParamsBase as ChatParams
from openai.types.responses.response_create_params import ResponseCreateParamsBase as ResponsesParams

MODEL = {"model": "m"}


def says(text: str) -> dict:
    return {"messages": [{"role": "user", "content": text}]}


TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}


def raises(kind: type[openai.APIStatusError], code: str | None, call, **arguments) -> None:
    try:
        call(**MODEL, **arguments)
    except kind as error:
        assert error.code == code, (error.code, error.body)
        assert set(error.body) == {"message", "type", "param", "code"}, error.body
    else:
        raise AssertionError(f"{arguments}: got no error, want {kind.__name__}")


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
            raise AssertionError("got a stream without an error, want one")


FUNCTION = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}


def responses(client: openai.OpenAI) -> None:
    create = client.responses.create
    answer = create(**MODEL, input="a b", instructions="be brief", metadata={"k": "v"})
    assert (answer.output_text, answer.status, answer.error) == ("a b", "completed", None), answer
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (2, 2), answer.usage
    assert (answer.instructions, answer.metadata) == ("be brief", {"k": "v"}), answer
    answer = create(**MODEL, input="a long text")
    assert (answer.status, answer.incomplete_details.reason) == ("incomplete", "max_output_tokens")

    call = create(**MODEL, input="?", tools=[FUNCTION]).output[0]
    assert (call.type, call.name, call.call_id) == ("function_call", "weather", "call_1"), call
    assert call.arguments == '{"city": "Rome"}', call
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "it rains"}
    answer = create(**MODEL, input=[{"role": "user", "content": "?"}, call, result])
    assert answer.output_text == "it rains" and answer.usage.input_tokens == 3, answer
    part = create(**MODEL, input="refuse").output[0].content[0]
    assert (part.type, part.refusal) == ("refusal", "no"), part

    with client.responses.stream(**MODEL, input="a b") as stream:
        events = list(stream)
        assert stream.get_final_response().output_text == "a b"
    assert [event.sequence_number for event in events] == list(range(len(events))), events
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == "a b"
    with client.responses.stream(**MODEL, input="?", tools=[FUNCTION]) as stream:
        for _ in stream:
            pass
        assert stream.get_final_response().output[0].arguments == '{"city": "Rome"}'

    failed = list(create(**MODEL, input="a fail", stream=True))
    assert [event.type for event in failed[-2:]] == ["error", "response.failed"], failed
    assert failed[-1].response.error.message == "ValueError: the model failed", failed

    raises(openai.InternalServerError, None, create, input="fail")
    raises(openai.BadRequestError, "unsupported_parameter", create, input="a", previous_response_id="x")
    raises(openai.BadRequestError, "unsupported_parameter", create, input="a", background=True)
    assert create(**MODEL, input="a", tools=[{"type": "web_search"}]).output_text == "a"
    raises(openai.BadRequestError, "unsupported_parameter", create, input="a", text={"format": {"type": "json_object"}})
    raises(openai.BadRequestError, "missing_required_parameter", create, extra_body={})
    for call in (
        lambda: client.responses.retrieve("x"),
        lambda: client.beta.threads.create(),
        lambda: client.batches.list(),
        lambda: client.fine_tuning.jobs.list(),
    ):
        try:
            call()
        except openai.NotFoundError as error:
            assert error.body["type"] == "invalid_request_error", error.body
        else:
            raise AssertionError("got an answer, want NotFoundError")


async def chat_async(address: str) -> None:
    async with openai.AsyncOpenAI(base_url=address, api_key="any", max_retries=0) as client:
        stream = await client.responses.create(**MODEL, input="a forever", stream=True)
        async for event in stream:
            if event.type == "response.output_text.delta":
                break
        await stream.close()  # which cancels: else nothing after it gets the slot
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


def speaker(client: openai.OpenAI) -> None:
    speech = client.audio.speech
    answer = speech.create(**MODEL, input="a b", voice="echo")
    assert answer.read() == b"echo:a\necho:b\n", answer.read()
    assert answer.response.headers["content-type"] == "audio/wav", answer.response.headers
    answer = speech.create(**MODEL, input="a", voice="echo", response_format="mp3")
    assert answer.response.headers["content-type"] == "audio/mpeg", answer.response.headers
    endless = {"input": "a forever", "voice": "v"}
    with speech.with_streaming_response.create(**MODEL, **endless) as stream:
        assert next(stream.iter_bytes()).startswith(b"v:a\n")  # while the model goes on; then the client leaves
    with speech.with_streaming_response.create(**MODEL, input="a b", voice="v", stream_format="sse") as stream:
        events = [json.loads(line[6:]) for line in stream.iter_lines() if line]
    assert [event["type"] for event in events] == ["speech.audio.delta"] * 2 + ["speech.audio.done"], events
    assert base64.b64decode(events[0]["audio"]) == b"v:a\n" and events[-1]["usage"]["output_tokens"] == 2
    raises(openai.InternalServerError, None, speech.create, input="fail", voice="v")
    try:
        speech.create(**MODEL, input="a fail", voice="v").read()
    except (openai.APIError, httpx.HTTPError):  # the stream is cut off
        pass
    else:
        raise AssertionError("got a whole answer, want an error")
    raises(openai.BadRequestError, "invalid_value", speech.create, input="a", voice="v", stream_format="x")
    raises(openai.BadRequestError, "unsupported_parameter", speech.create, input="a", voice="v", speed=2)


def recording(client: openai.OpenAI) -> None:
    speech = client.audio.speech
    answer = speech.create(**MODEL, input="abc", voice="echo")
    assert answer.read() == b"abc" * 1000, len(answer.read())
    assert answer.response.headers["content-type"] == "audio/mpeg", answer.response.headers
    with speech.with_streaming_response.create(**MODEL, input="a", voice="v", stream_format="sse") as stream:
        events = [json.loads(line[6:]) for line in stream.iter_lines() if line]
    assert base64.b64decode(events[0]["audio"]) == b"a" * 1000 and len(events) == 2, events
    raises(openai.BadRequestError, "unsupported_parameter", speech.create, input="a", voice="v", response_format="wav")


def failures(reason: str) -> int:
    """Return how many predictions have failed, or were refused, for a reason."""
    with urllib.request.urlopen(sys.argv[1] + "/metrics") as page:
        lines = page.read().decode().splitlines()
    counts = [line for line in lines if line.startswith("pinion_predictions_total{") and f'reason="{reason}"' in line]
    return sum(int(line.split()[-1]) for line in counts)


def busy(client: openai.OpenAI) -> None:
    """A server without a free slot says when to come again, and the client comes."""
    create = client.chat.completions.create
    endless = create(**MODEL, **says("a forever"), stream=True)
    next(iter(endless))
    try:
        create(**MODEL, **says("b"))
    except openai.RateLimitError as error:
        assert (error.code, error.type) == ("rate_limit_exceeded", "rate_limit_error"), error.body
        assert int(error.response.headers["retry-after"]) >= 1, error.response.headers
    else:
        raise AssertionError("got an answer, want RateLimitError")
    refused = failures("capacity")
    with ThreadPoolExecutor() as pool, client.with_options(max_retries=9) as again:
        answer = pool.submit(again.chat.completions.create, **MODEL, **says("b"))
        while failures("capacity") == refused:
            assert not answer.done(), answer.result()
        endless.close()
        assert answer.result().choices[0].message.content == "b"


def completer(client: openai.OpenAI) -> None:
    """Lists of prompts, choices, and stop sequences that lie across items."""
    create = client.completions.create
    answer = create(**MODEL, prompt=["abcdef", "xyz"], n=2, suffix="!")
    assert [(c.index, c.text, c.finish_reason) for c in answer.choices] == [
        (0, "abcdef!", "stop"),
        (1, "abcdef!", "stop"),
        (2, "xyz!", "stop"),
        (3, "xyz!", "stop"),
    ], answer
    assert (answer.object, answer.usage.prompt_tokens, answer.usage.completion_tokens) == ("text_completion", 9, 6), answer
    for stop, text in (("cde", "ab"), (["zz", "de"], "abc"), ("f", "abcde"), ("abc", ""), ("fg", "abcdef"), ("q", "abcdef")):
        assert create(**MODEL, prompt="abcdef", stop=stop).choices[0].text == text, stop
        chunks = list(create(**MODEL, prompt="abcdef", stop=stop, stream=True, stream_options={"include_usage": True}))
        assert "".join(c.choices[0].text for c in chunks if c.choices) == text, (stop, chunks)
        assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop", chunks
        assert not chunks[-1].choices and chunks[-1].usage.prompt_tokens == 6 and chunks[0].usage is None, chunks
        assert {c.object for c in chunks} == {"text_completion"} and len({c.id for c in chunks}) == 1, chunks
    texts = ["", "", "", ""]
    for chunk in create(**MODEL, prompt=["abcdef", "xyz"], n=2, stop="e", stream=True):
        texts[chunk.choices[0].index] += chunk.choices[0].text
    assert texts == ["abcd", "abcd", "xyz", "xyz"], texts
    raises(openai.BadRequestError, "invalid_type", create, prompt=[1, 2])
    raises(openai.BadRequestError, "invalid_value", create, prompt=[])
    raises(openai.BadRequestError, "invalid_value", create, prompt="a", stop=["a"] * 5)
    raises(openai.BadRequestError, "unsupported_parameter", create, prompt="a", echo=True)
    raises(openai.BadRequestError, "unsupported_parameter", create, prompt="a", best_of=2)
    try:
        create(**MODEL, prompt=["a", "fail"])
    except openai.InternalServerError as error:
        assert error.body["message"] == "prompt[1]: ValueError: the model failed", error.body
    else:
        raise AssertionError("got an answer to a prompt that fails, want an error")
    before = failures("model")
    with client.with_options(max_retries=2) as again:
        raises(openai.InternalServerError, None, again.completions.create, prompt="fail")
    assert failures("model") == before + 1, "a model that fails was run again"


def tokens(client: openai.OpenAI) -> None:
    create = client.completions.create
    assert create(**MODEL, prompt=[1, 2]).choices[0].text == "1-2"
    assert [c.text for c in create(**MODEL, prompt=[[1, 2], [3]]).choices] == ["1-2", "3"]
    assert [c.choices[0].text for c in create(**MODEL, prompt=[1, 2], stream=True)] == ["1-2", ""]
    raises(openai.BadRequestError, "invalid_type", create, prompt="a")
    raises(openai.BadRequestError, "invalid_type", create, prompt=[1, "a"])


def token_embedder(client: openai.OpenAI) -> None:
    create = client.embeddings.create
    for given, want in (("abc", [[3, 1]]), (["a", "bc"], [[1, 1], [2, 1]]), ([7, 8, 9], [[3, 2]]), ([[7], [8, 9]], [[1, 2], [2, 2]])):
        assert [item.embedding for item in create(**MODEL, input=given).data] == want, given


def transcriber(client: openai.OpenAI) -> None:
    create = client.audio.transcriptions.create
    audio = {"file": ("talk.wav", b"one two")}
    assert create(**MODEL, **audio).text == "one two"
    assert create(**MODEL, **audio, response_format="text") == "one two"
    verbose = create(**MODEL, **audio, response_format="verbose_json", language="de")
    assert (verbose.language, verbose.duration) == ("de", 1.5), verbose
    assert [s.text for s in verbose.segments] == ["one", "two"], verbose
    assert create(**MODEL, **audio, response_format="srt") == (
        "1\n00:00:00,000 --> 00:00:00,500\none\n\n2\n00:00:01,000 --> 00:00:01,500\ntwo\n\n"
    )
    assert create(**MODEL, **audio, response_format="vtt") == (
        "WEBVTT\n\n00:00:00.000 --> 00:00:00.500\none\n\n00:00:01.000 --> 00:00:01.500\ntwo\n\n"
    )
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


def parameters(client: openai.OpenAI, path: str, params: type, **base: object) -> None:
    """Send each parameter that the client knows: the server may refuse its value, but must know it."""
    for name in params.__annotations__.keys() - {"model"}:
        try:
            client.post(path, body={**MODEL, **base, name: "x"}, cast_to=object)
        except openai.BadRequestError as error:
            assert error.code != "unknown_parameter", error.body


def main() -> None:
    address, name = sys.argv[1] + "/v1", sys.argv[2]
    client = openai.OpenAI(base_url=address, api_key="any", max_retries=0)
    {
        "Chat": chat, "Busy": busy, "Completer": completer, "Embedder": embedder, "TokenEmbedder": token_embedder,
        "Tokens": tokens, "Transcriber": transcriber, "Dictation": dictation, "Painter": painter, "Speaker": speaker,
        "Recording": recording,
    }[name](client)
    if name == "Chat":
        responses(client)
        parameters(client, "/chat/completions", ChatParams, **says("a"))
        parameters(client, "/responses", ResponsesParams, input="a")
        asyncio.run(chat_async(address))


main()
