"""Plugins that are found by looking through a folder, and registered by a decorator."""

import importlib
import pkgutil

from cog import BaseRunner, Input
from registry import MODELS

import plugins

for info in pkgutil.iter_modules(plugins.__path__):
    importlib.import_module(f"plugins.{info.name}")


class Runner(BaseRunner):
    def run(self, text: str, model: str = Input(choices=sorted(MODELS))) -> str:
        return MODELS[model](text)
