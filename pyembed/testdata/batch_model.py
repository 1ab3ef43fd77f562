"""A model with @batch for tests, synchronous and async, and its inputs."""

from __future__ import annotations

from batch_front import BatchWorker

SYNC = """
    import gc, os, sys, time
    from cog import BaseRunner, CancelationException, batch, current_scope

    class Runner(BaseRunner):
        def setup(self) -> None:
            self.seen = []

        @batch(max_size=32)
        def run(self, n: list[int], how: str = "") -> list[int]:
            self.seen.append(len(n))
            if how == "print":
                print("together", len(n))
            if how == "raise":
                if 13 in n:
                    raise ValueError("13 is not a number")
            if how == "all":
                raise ValueError("never")
            if how == "lost":
                raise RuntimeError("CUDA error: an illegal memory access was encountered")
            if how == "element":
                return [ValueError(f"not {i}") if i == 13 else i for i in n]
            if how == "short":
                return n[1:]
            if how == "none":
                return None
            if how == "str":
                return "abc"
            if how == "tuple":
                return tuple(n)
            if how == "encode":
                return [object() if i == 13 else i for i in n]
            if how.startswith("later"):
                return [(open(p).read() for p in [f"{how[6:]}{i}"]) if i > 12 else i for i in n]
            if how == "exit":
                sys.exit(3)
            if how == "die":
                os._exit(7)
            if how == "fork":
                if os.fork() == 0:
                    return n
                os.wait()
            if how == "metric":
                current_scope().record_metric("tokens", sum(n))
            if how == "seen":
                return [self.seen for _ in n]
            if how == "sleep":
                print("asleep", flush=True)
                time.sleep(600)
            if how == "spin":
                for _ in range(20000):
                    pass
            while how.startswith("/") and not os.path.exists(how):
                time.sleep(0.001)
            if how == "blocks":
                gc.collect()
                return [sys.getallocatedblocks() for _ in n]
            if how == "swallow":
                try:
                    time.sleep(600)
                except CancelationException:
                    pass
            return [i + 1 for i in n]
"""
ASYNC = (
    SYNC.replace("        def run", "        async def run").replace("import gc,", "import asyncio, gc,")
    .replace("time.sleep", "await asyncio.sleep")
    .replace("except CancelationException", "except asyncio.CancelledError")
)
SOURCES = (SYNC, ASYNC)


def each(test):
    """Run a test with a sync and with an async model."""

    def run():
        for source in SOURCES:
            with BatchWorker(source) as worker:
                test(worker)

    return run


def of(*numbers, how=""):
    return [{"n": n, **({"how": how} if how else {})} for n in numbers]
