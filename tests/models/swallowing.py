"""Code that swallows its cancel and goes on, or that cleans up after it in many ways."""

import asyncio
import contextlib
import time
from typing import Any

from cog import BaseRunner, CancelationException, batch


def wait() -> None:
    print("begun")
    time.sleep(1000)


async def wait_async() -> None:
    print("begun")
    await asyncio.sleep(1000)


def clean() -> None:
    """Clean up for longer than a cancel waits before it looks whether it was swallowed."""
    for _ in range(5):
        time.sleep(0.1)
    print("clean")


async def clean_async() -> None:
    for _ in range(5):
        await asyncio.sleep(0.1)
    print("clean")


def swallow() -> None:
    try:
        wait()
    except BaseException:
        pass


class Guard:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: object) -> bool:
        return True


class Ways:
    """Each way swallows its cancel and runs on until it is repeated."""

    kept: Any = None

    def helper(self) -> None:
        swallow()
        wait()

    def nested(self) -> None:
        def middle() -> None:
            for _ in range(2):
                swallow()

        middle()
        wait()

    def retrying(self) -> None:
        for _ in range(3):
            with contextlib.suppress(BaseException):
                wait()
        wait()

    def suppressing(self) -> None:
        def work() -> None:
            with contextlib.suppress(BaseException):
                wait()

        work()
        wait()

    def guarding(self) -> None:
        with Guard():
            wait()
        wait()

    def keeping(self) -> None:
        """A library may keep the exception that it caught."""

        def work() -> None:
            try:
                wait()
            except BaseException as error:
                self.kept = error

        work()
        wait()

    def converting(self) -> None:
        def work() -> None:
            try:
                wait()
            except BaseException as error:
                raise ValueError("the library failed") from error

        try:
            work()
        except ValueError:
            pass
        wait()

    def computing(self) -> None:
        swallow()
        while True:
            pass


class Cleanups:
    """Each way is canceled once, and cleans up."""

    def handler(self) -> None:
        try:
            wait()
        except BaseException:
            clean()
            raise

    def final(self) -> None:
        try:
            wait()
        finally:
            clean()

    def chained(self) -> None:
        """The handler of another exception runs within that of the cancel."""
        try:
            wait()
        except BaseException:
            try:
                raise KeyError("none")
            except KeyError:
                clean()
            raise

    def leaving(self) -> None:
        @contextlib.contextmanager
        def resource() -> Any:
            try:
                yield
            finally:
                clean()

        with resource():
            wait()

    def after_helper(self) -> None:
        """The helper swallows it, so the `finally` block ends without an exception."""
        try:
            swallow()
        finally:
            clean()

    def closing(self) -> None:
        class Resource:
            def __enter__(self) -> None:
                pass

            def __exit__(self, *raised: object) -> None:
                clean()

        with Resource():
            swallow()

    def named(self) -> None:
        """It asks for the exception by its name, and tells its caller in another way."""

        def work() -> bool:
            try:
                wait()
            except CancelationException:
                return False
            return True

        if not work():
            clean()


class AsyncWays:
    async def helper(self) -> None:
        async def work() -> None:
            try:
                await wait_async()
            except BaseException:
                pass

        await work()
        await wait_async()

    async def own(self) -> None:
        with contextlib.suppress(BaseException):
            await wait_async()
        await wait_async()

    async def retrying(self) -> None:
        for _ in range(4):
            try:
                await wait_async()
            except BaseException:
                pass
        await wait_async()

    async def gathering(self) -> None:
        await asyncio.gather(self.helper(), wait_async())

    async def child(self) -> None:
        task = asyncio.create_task(self.helper())
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await wait_async()

    async def blocking(self) -> None:
        swallow()
        await wait_async()


class AsyncCleanups:
    async def handler(self) -> None:
        try:
            await wait_async()
        except BaseException:
            await clean_async()
            raise

    async def final(self) -> None:
        try:
            await wait_async()
        finally:
            await clean_async()

    async def child(self) -> None:
        await asyncio.create_task(self.final())

    async def gathering(self) -> None:
        await asyncio.gather(self.final())

    async def converting(self) -> None:
        try:
            await wait_async()
        except BaseException as error:
            try:
                raise ValueError("failed") from error
            except ValueError:
                await clean_async()

    async def leaving(self) -> None:
        @contextlib.asynccontextmanager
        async def resource() -> Any:
            try:
                yield
            finally:
                await clean_async()

        async with resource():
            await wait_async()

    async def after_helper(self) -> None:
        try:
            with contextlib.suppress(BaseException):
                await wait_async()
        finally:
            await clean_async()

    async def iterating(self) -> None:
        async def items() -> Any:
            try:
                while True:
                    yield await wait_async()
            finally:
                await clean_async()

        async for _ in items():
            pass


def way(name: str, *kinds: type) -> Any:
    kind, how = name.split(".")
    return getattr(next(k for k in kinds if k.__name__ == kind)(), how)


class Sync(BaseRunner):
    def run(self, how: str = "") -> str:
        if how:
            way(how, Ways, Cleanups)()
        return "done"


class Batch(BaseRunner):
    @batch(max_size=2)
    def run(self, how: list[str]) -> list[str]:
        for each in filter(None, how):
            way(each, Ways, Cleanups)()
        return ["done"] * len(how)


class Async(BaseRunner):
    async def run(self, how: str = "") -> str:
        if how:
            await way(how, AsyncWays, AsyncCleanups)()
        return "done"


class AsyncBatch(BaseRunner):
    @batch(max_size=2)
    async def run(self, how: list[str]) -> list[str]:
        for each in filter(None, how):
            await way(each, AsyncWays, AsyncCleanups)()
        return ["done"] * len(how)
