"""multiprocessing in every start method, with classes of this module going both ways."""

import multiprocessing
from dataclasses import dataclass

from cog import BaseRunner, Input


@dataclass
class Task:
    name: str
    size: int


def work(task: Task) -> Task:
    from cog import Path  # the child has the same package

    return Task(Path(task.name).stem, task.size * 2)


def feed(connection, n: int) -> None:
    for i in range(n):
        connection.send(Task(f"t{i}", i))
    connection.close()


class Runner(BaseRunner):
    def run(self, method: str = Input(choices=["fork", "spawn", "forkserver"])) -> dict:
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            done = pool.map(work, [Task("a.txt", 1), Task("b.txt", 2)])
        ours, theirs = context.Pipe()
        process = context.Process(target=feed, args=(theirs, 2))
        process.start()
        theirs.close()
        received = [ours.recv(), ours.recv()]
        process.join()
        shared = context.Value("i", 5)
        return {"done": done, "received": received, "code": process.exitcode, "shared": shared.value}
