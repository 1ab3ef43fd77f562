"""The class that is served defines nothing but what differs: run is its base's."""

from base import SharedRunner


class Runner(SharedRunner):
    greeting = "moin"
