"""Setup in the preload process, and what the workers do that are forked after it."""

from __future__ import annotations

import atexit
import os
import sys
import time

import _px

from ..fetched import await_for_setup
from ..model.load import main_of
from .sync import Server
from .unforkable import left_open, open_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..main import Model

_OPENMP = ("libgomp", "libiomp5", "libomp")  # how the names of its libraries begin
_OPENMP_THREADS = "OMP_NUM_THREADS"


class SetUp:
    """The setup of a model whose workers are forks of this process."""

    def __init__(self, config: dict[str, Any], load: Callable[[dict[str, Any]], Model]) -> None:
        self._config = config
        self._load = load
        self._threads = Threads()
        self._open = open_files()
        self.seconds = 0.0
        self.model: Model | None = None

    def run(self) -> str:
        """Load the model and run its setup. Return why no worker may be forked, or ""."""
        began = time.monotonic()
        refused = ""
        try:
            self._threads.limit()
            self.model = self._load(self._config)
            refused = self._set_up(self.model)
        except BaseException as error:
            if _px.is_child():
                _px.exit_child(error)
            refused = f"its setup raises {type(error).__name__}: {error}"
        if _px.is_child():
            _px.exit_child(None)  # setup forked, and this is the child
        self.seconds = time.monotonic() - began
        return refused

    def _set_up(self, model: Model) -> str:
        main: Any = main_of(model.functions)
        if main.ranks > 1:
            return "its predictions run in several processes, each of which needs a setup"
        server = Server(model.functions)
        if main.is_async:
            server.begin_loop()
        await_for_setup(self._config)
        server.setup(self._config)
        # What after_fork opens, the example needs.
        if not self._config.get("no_warm_up") and main.after_fork is None:
            server.warm_up()
            model.is_warm = True
        return _shared("the event loop of its setup") if server.end_loop() else ""

    def left_open(self) -> str:
        """Return why no worker may be forked: what the setup has left open, or ""."""
        main: Any = self.model and main_of(self.model.functions)
        left = left_open(self._open, main.instance)
        return _shared(left) if left else ""

    def begin_worker(self) -> None:
        """Make a fork a worker: cleanups stay with the preload process, seeds are new."""
        _forget_cleanups()
        torch = sys.modules.get("torch")
        if hasattr(torch, "seed"):
            torch.seed()  # type: ignore[union-attr]
        self._threads.restore()


def _shared(what: str) -> str:
    return f"its setup keeps {what}, which a fork cannot share: open it in after_fork()"


class Threads:
    """How many threads OpenMP and torch use.

    A setup that computes with one has no pool of threads, which a fork would lack.
    """

    def __init__(self) -> None:
        self._given = os.environ.get(_OPENMP_THREADS)
        self._before: dict[str, int] = {}

    def limit(self) -> None:
        """Have both use one thread from now on."""
        os.environ[_OPENMP_THREADS] = "1"  # of a library that setup loads
        for name, get, use in _pools():
            self._before[name] = get()
            use(1)

    def restore(self) -> None:
        """Have both use as many as before, unless the model has set their number meanwhile."""
        if self._given is None:
            os.environ.pop(_OPENMP_THREADS, None)
        else:
            os.environ[_OPENMP_THREADS] = self._given
        given = (self._given or "").partition(",")[0].strip()
        usual = int(given) if given.isdecimal() and int(given) else len(os.sched_getaffinity(0))
        for name, get, use in _pools():
            if get() == 1:
                use(self._before.get(name, usual))


def _pools() -> list[tuple[str, Callable[[], int], Callable[[int], Any]]]:
    """Return libraries that make pools of threads: name, and functions to get and set a number."""
    with open("/proc/self/maps") as maps:
        paths = {line.rstrip("\n").partition("/")[2] for line in maps if "/" in line}
    found = sorted("/" + path for path in paths if os.path.basename(path).startswith(_OPENMP))
    pools: list[tuple[str, Callable[[], int], Callable[[int], Any]]] = []
    if found:
        from ctypes import CDLL
    for path in found:
        try:
            library = CDLL(path)
            pools.append((path, library.omp_get_max_threads, library.omp_set_num_threads))
        except (OSError, AttributeError):
            pass  # another library of such a name
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "set_num_threads"):
        pools.append(("torch", torch.get_num_threads, torch.set_num_threads))
    return pools


def _forget_cleanups() -> None:
    """Forget what the setup has registered for the end: only the preload process runs that."""
    atexit._clear()
    weakref = sys.modules.get("weakref")
    if weakref is not None:
        for finalizer in list(weakref.finalize._registry):
            finalizer.atexit = False
        weakref.finalize._registered_with_atexit = False
    logging = sys.modules.get("logging")
    if logging is not None:
        atexit.register(logging.shutdown)
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None:
        processes._children.clear()  # else this worker would end them
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        atexit.register(util._exit_function)


def leave() -> None:
    """End a worker: run what it has registered for its end, and destroy no object of the setup."""
    threading = sys.modules.get("threading")
    try:
        if threading is not None:
            threading._shutdown()
        atexit._run_exitfuncs()
    except BaseException as error:
        from ..errors import traceback_text

        print(traceback_text(error), file=sys.stderr)
    _px.exit_child(None)
