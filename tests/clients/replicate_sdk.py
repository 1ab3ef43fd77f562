"""Ask tests/models/replicate.py by Replicate's client for Python: ADDRESS TOKEN."""

import asyncio
import io
import json
import pathlib
import queue
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import replicate
from replicate.exceptions import ModelError, ReplicateError
from replicate.webhook import InvalidSignatureError, Webhooks, WebhookSigningSecret


def raises(status: int, part: str, call, *arguments, **named) -> None:
    try:
        call(*arguments, **named)
    except ReplicateError as error:
        assert error.status == status and part in error.detail, error
    else:
        raise AssertionError(f"got no error, want {status}")


def predictions(client: replicate.Client, version: str) -> None:
    prediction = client.predictions.create(version=version, input={"text": "a b"})
    assert prediction.version == version and prediction.urls["get"].endswith(prediction.id), prediction
    prediction.wait()
    assert prediction.input == {"text": "a b"}, prediction
    assert (prediction.status, prediction.output) == ("succeeded", ["a ", "b "]), prediction
    assert prediction.metrics["predict_time"] >= 0 and prediction.completed_at, prediction
    assert client.predictions.get(prediction.id).output == ["a ", "b "]
    assert client.predictions.cancel(prediction.id).status == "succeeded"

    waited = client.predictions.create(version=version, input={"text": "a"}, wait=True)
    assert waited.status == "succeeded" and waited.output == ["a "], waited

    endless = client.predictions.create(version=version, input={"text": "a forever"}, wait=1)
    assert (endless.status, endless.output) == ("starting", None), endless
    endless.cancel()
    endless.wait()
    assert endless.status == "canceled", endless

    raises(422, "version", client.predictions.create, version="nope", input={})
    raises(422, "is not of type", client.predictions.create, version=version, input={"text": 3})
    raises(404, "nope", client.predictions.get, "nope")
    raises(404, "nope", client.predictions.cancel, "nope")
    raises(404, "lists no predictions", client.predictions.list)


def runs(client: replicate.Client, version: str) -> None:
    assert client.run("acme/m", input={"text": "a b"}) == ["a ", "b "]
    assert list(client.run(f"acme/m:{version}", input={"text": "a b"})) == ["a ", "b "]
    assert list(client.run(f"acme/m:{'0' * 64}", input={"text": "a"}, wait=False)) == ["a "]
    try:
        client.run("acme/m", input={"text": "fail"})
    except ModelError as error:
        assert str(error) == "ValueError: the model failed", error
    else:
        raise AssertionError("got an answer, want the model's error")
    raises(404, 'this server has "m"', client.run, "acme/other", input={})


def models(client: replicate.Client) -> str:
    model = client.models.get("acme/m")
    assert model.id == "pinion/m" and model.visibility == "private", model
    version = model.latest_version
    assert "Input" in version.openapi_schema["components"]["schemas"], version
    assert [v.id for v in model.versions.list()] == [version.id]
    assert model.versions.get(version.id).cog_version == version.cog_version
    by_model = client.models.predictions.create("acme/m", input={"text": "a"})
    by_model.wait()
    assert by_model.model == "pinion/m" and by_model.output == ["a "], by_model
    deployment = client.deployments.get("acme/m")
    assert deployment.current_release.version == version.id, deployment
    deployed = deployment.predictions.create(input={"text": "a"})
    deployed.wait()
    assert deployed.output == ["a "], deployed
    return version.id


def streams(client: replicate.Client) -> None:
    events = list(client.stream("acme/m", input={"text": "log a lines number"}))
    kinds = [event.event.value for event in events]
    assert kinds[-1] == "done" and set(kinds) <= {"output", "logs", "done"}, kinds
    text = [event.data for event in events if event.event.value == "output"]
    assert text == ["log ", "a ", "a\nb \nc", "lines ", "7", "number "], text
    assert "".join(str(event) for event in events) == "".join(text)

    ended = client.predictions.create(model="acme/m", input={"text": "a b"})
    ended.wait()
    assert [event.data for event in ended.stream()] == ["a ", "b ", "{}"]

    failing = client.stream("acme/m", input={"text": "a fail"})
    assert next(event.data for event in failing if event.event.value == "output") == "a "
    try:
        list(failing)
    except RuntimeError as error:
        assert "the model failed" in str(error), error
    else:
        raise AssertionError("got a whole stream, want an error")


def files(client: replicate.Client) -> None:
    made = client.files.create(io.BytesIO(b"some text"), filename="a.txt", metadata={"a": 1})
    assert (made.name, made.content_type, made.size) == ("a.txt", "text/plain", 9), made
    assert made.metadata == {"a": 1} and len(made.checksums["sha256"]) == 64, made
    assert client.files.get(made.id).etag == made.etag
    assert made.id in [file.id for file in client.files.list()]
    link = made.urls["get"]
    words = client.run("acme/m", input={"file": link, "files": [link]})
    assert words == [".txtsome ", "text ", ".txtsome ", "text "], words
    assert client.run("acme/m", input={"text": link}) == [link + " "]  # no file's input
    assert client.files.delete(made.id) is True
    raises(404, made.id, client.files.get, made.id)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "b.md")
        path.write_text("more")
        assert client.run("acme/m", input={"file": path}) == [".mdmore "]
        with path.open("rb") as opened:
            inline = {"file": opened}
            words = client.run("acme/m", input=inline, file_encoding_strategy="base64")
            assert words[0].endswith("more "), words


def webhooks(client: replicate.Client) -> None:
    received: queue.Queue = queue.Queue()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            received.put((dict(self.headers), body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    made = client.predictions.create(
        model="acme/m",
        input={"text": "a b"},
        webhook=f"http://127.0.0.1:{server.server_port}/",
        webhook_events_filter=["start", "completed"],
    )
    secret = client.webhooks.default.secret()
    ids = set()
    for status in ("processing", "succeeded"):
        headers, body = received.get(timeout=30)
        Webhooks.validate(headers=headers, body=body, secret=secret, tolerance=300)
        prediction = json.loads(body)
        assert (prediction["id"], prediction["status"]) == (made.id, status), prediction
        if "urls" in prediction:  # a server that runs it as a job does not know them
            prediction = replicate.prediction.Prediction(**prediction)
            assert prediction.urls["get"] == made.urls["get"], prediction
        ids.add(headers["Webhook-Id"])
        for wrong in (body + " ", body.replace("a", "b")):
            try:
                Webhooks.validate(headers=headers, body=wrong, secret=secret)
            except InvalidSignatureError:
                continue
            raise AssertionError("got a valid signature of a wrong body, want none")
        other = WebhookSigningSecret(key="whsec_" + "A" * 32)
        try:
            Webhooks.validate(headers=headers, body=body, secret=other)
        except InvalidSignatureError:
            continue
        raise AssertionError("got a valid signature of another secret, want none")
    assert len(ids) == 2, ids
    server.shutdown()


async def asynchronous(client: replicate.Client) -> None:
    assert await client.async_run("acme/m", input={"text": "a b"}) == ["a ", "b "]
    stream = await client.async_stream("acme/m", input={"text": "a b"})
    assert [event.data async for event in stream] == ["a ", "b ", "{}"]
    made = await client.files.async_create(io.BytesIO(b"text"))
    assert await client.files.async_delete(made.id)


def main() -> None:
    address, token = sys.argv[1:]
    client = replicate.Client(api_token=token, base_url=address)
    client.poll_interval = 0.01
    version = models(client)
    predictions(client, version)
    runs(client, version)
    streams(client)
    files(client)
    webhooks(client)
    asyncio.run(asynchronous(client))


if __name__ == "__main__":
    main()
