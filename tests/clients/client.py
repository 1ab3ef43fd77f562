"""Uses the client that openapi-python-client has made of the document: client.py URL. It raises where something is wrong."""

from __future__ import annotations

import io
import sys

from painter import Client
from painter.api.default import (
    cancel_predictions_prediction_id_cancel_post as cancel, get_prediction_predictions_prediction_id_get as get,
    healthcheck_health_check_get as health, livez_get, metrics_get, openapi_json_get,
    predict_idempotent_predictions_prediction_id_put as put, predict_predictions_post as post, readyz_get, root_get,
    train_trainings_post as train,
)
from painter.models import (
    HTTPValidationError, Input, PredictionForm, PredictionRequest, PredictionResponse, PredictionState, ServerDetail,
    ServerHealthStatus, ServerRefusal, Status, TrainingInput, TrainingRequest,
)
from painter.types import File

client = Client(base_url=sys.argv[1])


def asked(module, code: int, kind: type, *args, **kwargs):
    """Ask, and return what was parsed, which is of that kind."""
    answer = module.sync_detailed(*args, client=client, **kwargs)
    assert answer.status_code == code, (answer.status_code, answer.content)
    assert isinstance(answer.parsed, kind), (answer.parsed, answer.content)
    return answer.parsed


def predicts() -> None:
    done = asked(post, 200, PredictionResponse, body=PredictionRequest(input_=Input(prompt="a cat", steps=5)))
    assert done.status == Status.SUCCEEDED, done
    assert (done.output.prompt, done.output.steps, done.output.style) == ("a cat", 5, "oil"), done
    assert done.metrics["predict_time"] >= 0 and done.completed_at >= done.started_at, done

    failed = asked(post, 200, PredictionResponse, body=PredictionRequest(input_=Input(prompt="fail")))
    assert (failed.status, failed.error) == (Status.FAILED, "ValueError: told to"), failed

    form = PredictionForm(prompt="a dog", image=File(payload=io.BytesIO(b"12345"), file_name="x.png"))
    done = asked(post, 200, PredictionResponse, body=form)
    assert (done.output.prompt, done.output.size) == ("a dog", 5), done

    problem = asked(post, 422, HTTPValidationError, body=PredictionRequest(input_=Input(prompt="x", steps=77)))
    assert problem.detail[0].loc == ["body", "input", "steps"], problem
    assert problem.detail[0].msg == "77 is greater than the maximum of 9", problem


def waits() -> None:
    started = asked(
        put, 202, PredictionState, "p1", body=PredictionRequest(input_=Input(prompt="wait")), prefer="respond-async"
    )
    assert (started.id, started.status) == ("p1", Status.STARTING), started
    state = asked(get, 200, PredictionState, "p1")
    assert state.id == "p1" and state.input_["prompt"] == "wait", state
    taken = asked(post, 409, ServerRefusal, body=PredictionRequest(id="p1", input_=Input(prompt="x")))
    assert "p1" in taken.error or "flight" in taken.error, taken
    busy = asked(post, 409, ServerRefusal, body=PredictionRequest(input_=Input(prompt="x")))
    assert "capacity" in busy.error, busy
    assert cancel.sync_detailed("p1", client=client).status_code == 200
    while (state := asked(get, 200, PredictionState, "p1")).completed_at is None or not state.completed_at:
        pass
    assert state.status == Status.CANCELED, state
    assert cancel.sync_detailed("unknown", client=client).status_code == 404
    assert "not found" in asked(get, 404, ServerDetail, "unknown").detail


def serves() -> None:
    assert asked(health, 200, object).status == ServerHealthStatus.READY
    assert asked(root_get, 200, object).predictions_url == "/predictions"
    assert "pinion_" in asked(metrics_get, 200, str)
    for module in (livez_get, readyz_get, openapi_json_get):
        asked(module, 200, object)
    done = asked(train, 200, object, body=TrainingRequest(input_=TrainingInput(epochs=4)))
    assert done.output == "trained 4", done


predicts()
waits()
serves()
