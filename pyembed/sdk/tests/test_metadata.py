"""What `importlib.metadata` says of the package: the version of the interface."""

from __future__ import annotations

import importlib.metadata
import os

import cog

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def test_the_version_is_the_interfaces():
    (found,) = importlib.metadata.distributions(name="cog", path=[SDK])
    assert found.version == cog.__version__
    assert found.metadata["Name"] == "cog"
    assert os.listdir(os.path.join(SDK, f"cog-{cog.__version__}.dist-info")) == ["METADATA"]
