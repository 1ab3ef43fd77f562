"""Ask the chat of tests/models/generative.py by Anthropic's client: ADDRESS TOKEN."""

import asyncio
import sys

import anthropic
from anthropic.types.beta.message_create_params import MessageCreateParamsBase as BetaParams

BASE = {"model": "m", "max_tokens": 50}
TOOL = {"name": "weather", "description": "tells it", "input_schema": {"type": "object"}}


def says(text: str) -> list:
    return [{"role": "user", "content": text}]


def raises(kind: type[anthropic.APIStatusError], name: str, call, **arguments) -> None:
    try:
        call(**{**BASE, **arguments})
    except kind as error:
        assert error.body["type"] == "error" and error.body["error"]["type"] == name, error.body
        assert error.body["error"]["message"], error.body
    else:
        raise AssertionError(f"{arguments}: got no error, want {kind.__name__}")


def messages(client: anthropic.Anthropic) -> None:
    create = client.messages.create
    answer = create(**BASE, messages=says("a b"), system="be brief")
    assert [block.text for block in answer.content] == ["a b"], answer
    assert (answer.stop_reason, answer.model, answer.role) == ("end_turn", "m", "assistant"), answer
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (2, 2), answer.usage
    assert create(**BASE, messages=says("a long text")).stop_reason == "max_tokens"
    answer = create(**BASE, messages=says("a b c d"), stop_sequences=["x", " c"])
    assert (answer.stop_reason, answer.stop_sequence) == ("stop_sequence", " c"), answer
    assert answer.content[0].text == "a b", answer
    assert create(**BASE, messages=says("refuse")).stop_reason == "refusal"

    answer = create(**BASE, messages=says("?"), tools=[TOOL], tool_choice={"type": "auto"})
    call = answer.content[0]
    assert (answer.stop_reason, call.type, call.name) == ("tool_use", "tool_use", "weather"), answer
    assert call.input == {"city": "Rome"}, call
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "it rains"}
    history = [*says("?"), {"role": "assistant", "content": answer.content}]
    answer = create(**BASE, messages=[*history, {"role": "user", "content": [result]}])
    assert answer.content[0].text == "it rains" and answer.usage.input_tokens == 3, answer


def streams(client: anthropic.Anthropic) -> None:
    with client.messages.stream(**BASE, messages=says("a b c")) as stream:
        assert "".join(stream.text_stream) == "a b c"
        final = stream.get_final_message()
    assert (final.stop_reason, final.usage.input_tokens, final.usage.output_tokens) == ("end_turn", 1, 3), final
    with client.messages.stream(**BASE, messages=says("?"), tools=[TOOL]) as stream:
        final = stream.get_final_message()
    assert final.content[0].input == {"city": "Rome"} and final.stop_reason == "tool_use", final
    kinds = [event.type for event in client.messages.create(**BASE, messages=says("a b"), stream=True)]
    assert kinds == [
        "message_start", "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
        "message_delta", "message_stop",
    ], kinds
    try:
        list(client.messages.create(**BASE, messages=says("a fail"), stream=True))
    except anthropic.APIStatusError as error:
        assert "the model failed" in str(error), error
    else:
        raise AssertionError("got a stream without an error, want one")


@anthropic.beta_tool
def weather(city: str) -> str:
    """Tell the weather.

    Args:
        city: where.
    """
    return "it rains in " + city


def agents(client: anthropic.Anthropic) -> None:
    """Run tools, which at first asks for a thread that the server keeps, and send each parameter that the client knows."""
    for stream in (False, True):
        last = None
        runner = client.beta.messages.tool_runner(**BASE, messages=says("?"), tools=[weather], stream=stream)
        for turn in runner:
            last = turn.get_final_message() if stream else turn
        assert last.content[0].text == "it rains in Rome", last
    tools = [TOOL, {"type": "web_search_20250305", "name": "web_search"}, {"type": "bash_20250124", "name": "bash"}]
    assert client.messages.create(**BASE, messages=says("?"), tools=tools).content[0].name == "weather"
    for name in BetaParams.__annotations__.keys() - {"betas", "model"}:  # betas is a header
        try:
            client.post("/v1/messages", body={**BASE, "messages": says("a"), name: "x"}, cast_to=object)
        except anthropic.BadRequestError as error:
            assert "Unknown parameter" not in error.body["error"]["message"], error.body


def errors(client: anthropic.Anthropic, address: str) -> None:
    create, hello = client.messages.create, says("a")
    raises(anthropic.NotFoundError, "not_found_error", create, model="x", messages=hello)
    raises(anthropic.BadRequestError, "invalid_request_error", create, messages=[])
    raises(anthropic.BadRequestError, "invalid_request_error", create, max_tokens=0, messages=hello)
    raises(anthropic.InternalServerError, "api_error", create, messages=says("fail"))
    stranger = anthropic.Anthropic(base_url=address, api_key="another", max_retries=0)
    raises(anthropic.AuthenticationError, "authentication_error", stranger.messages.create, messages=hello)
    try:
        client.messages.batches.list()
    except anthropic.NotFoundError as error:
        assert error.body["error"]["type"] == "not_found_error", error.body
    else:
        raise AssertionError("got an answer, want NotFoundError")
    assert client.messages.count_tokens(model="m", messages=hello).input_tokens > 0
    assert [model.id for model in client.models.list()] == ["m"]
    assert client.models.retrieve("m").display_name == "m"


async def asynchronous(address: str, token: str) -> None:
    async with anthropic.AsyncAnthropic(base_url=address, api_key=token, max_retries=0) as client:
        stream = await client.messages.create(**BASE, messages=says("a forever"), stream=True)
        async for event in stream:
            if event.type == "content_block_delta":
                break
        await stream.close()  # which cancels: the only slot is free for the next one
        answers = await asyncio.gather(*(client.messages.create(**BASE, messages=says(f"t {n}")) for n in range(4)))
        assert [a.content[0].text for a in answers] == [f"t {n}" for n in range(4)]


def main() -> None:
    address, token = sys.argv[1:]
    client = anthropic.Anthropic(base_url=address, api_key=token, max_retries=0)
    messages(client)
    streams(client)
    agents(client)
    errors(client, address)
    asyncio.run(asynchronous(address, token))


if __name__ == "__main__":
    main()
