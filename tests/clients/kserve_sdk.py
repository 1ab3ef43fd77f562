"""Ask the Adder of tests/models/platforms.py by KServe's client, by protocol v1 and v2: ADDRESS."""

import asyncio
import sys

import httpx
from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig

ADDRESS = sys.argv[1]


async def v1() -> None:
    client = InferenceRESTClient(RESTConfig(protocol="v1", retries=0))
    assert await client.is_model_ready(ADDRESS, "m")
    data = {"instances": [1, {"x": 2}], "parameters": {"add": 10}}
    answer = await client.infer(ADDRESS, data, model_name="m")
    assert [p["sum"] for p in answer["predictions"]] == [11, 12], answer
    assert {p["batch"] for p in answer["predictions"]} == {2}, answer
    try:
        await client.infer(ADDRESS, {"instances": [1, "a"]}, model_name="m")
    except httpx.HTTPStatusError as error:
        assert error.response.status_code == 400, error
        assert error.response.json()["error"].startswith("instance 1: input x"), error.response.text
    else:
        raise AssertionError("got no error, want one")


async def v2() -> None:
    client = InferenceRESTClient(RESTConfig(protocol="v2", retries=0))
    assert await client.is_server_live(ADDRESS)
    assert await client.is_server_ready(ADDRESS)
    assert await client.is_model_ready(ADDRESS, "m")
    x = InferInput("x", [2], "INT64", [1, 2])
    answer = await client.infer(ADDRESS, InferRequest("m", [x]), model_name="m")
    assert answer.model_name == "m", answer
    assert answer.outputs[0].name == "output" and len(answer.outputs[0].data) == 2, answer.outputs


async def main() -> None:
    await v1()
    await v2()


asyncio.run(main())
