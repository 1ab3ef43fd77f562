"""The kinds of work that are measured; most have their own file."""

from __future__ import annotations

from lib.rows.base import Row
from lib.rows.beside import Beside
from lib.rows.bodies import Bodies
from lib.rows.cancel import Cancel
from lib.rows.echo import Echo
from lib.rows.idle import Idle
from lib.rows.loops import Await, Batch, BatchDefault, Onnx, OnnxBatch
from lib.rows.open import Open
from lib.rows.start import Start
from lib.rows.stream import Stream

ALL: dict[str, type[Row]] = {
    row.name: row
    for row in (
        Echo,
        Open,
        Bodies,
        Onnx,
        Await,
        Stream,
        Batch,
        BatchDefault,
        OnnxBatch,
        Start,
        Beside,
        Cancel,
        Idle,
    )
}
