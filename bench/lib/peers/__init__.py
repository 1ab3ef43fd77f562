"""The servers that are compared. Each file makes the commands of one."""

from __future__ import annotations

from lib.peers.bare import Bare
from lib.peers.base import Peer, Setting
from lib.peers.bentoml import BentoML
from lib.peers.coglet import Coglet
from lib.peers.fastapi import FastAPI
from lib.peers.litserve import LitServe
from lib.peers.mosec import Mosec
from lib.peers.pinion import Pinion
from lib.peers.ray import Ray
from lib.peers.ventu import PinionBatching, Ventu

__all__ = ["ALL", "Peer", "Setting"]

ALL: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Bare(),
        Pinion(),
        Pinion("pinion-async", "Pinion, async model", {"echo": "async"}),
        Pinion("pinion-async32", "Pinion, async model, 32 at once", {"echo": "async32"}),
        Pinion("pinion-arrays", "Pinion, inputs declared as arrays", {"onnx-batch": "onnx-arrays"}),
        Pinion("pinion-grpc", "Pinion, --grpc-port", flags=("--grpc-port", "0")),
        Coglet(),
        Coglet("coglet-async32", "coglet, async model, 32 at once", "async32"),
        Mosec(),
        Mosec("mosec-1ms", "MOSEC, 1 ms", "1"),
        Mosec("mosec-2ms", "MOSEC, 2 ms", "2"),
        Mosec("mosec-single", "MOSEC, no batches", "", "1"),
        LitServe(),
        BentoML(),
        FastAPI(),
        FastAPI("fastapi-granian", "granian"),
        Ray(),
        Ventu(),
        PinionBatching(),
    )
}
