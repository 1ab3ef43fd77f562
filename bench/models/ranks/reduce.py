"""Several processes that add 4 MB, again and again, by torch and gloo on the CPU: as a model, and for torchrun."""

import sys
import time

import torch
import torch.distributed as dist
from cog import BaseRunner


class Runner(BaseRunner):
    def setup(self) -> None:
        dist.init_process_group("gloo")
        torch.set_num_threads(1)
        self.numbers = torch.ones(1 << 20)

    def run(self, count: int) -> float:
        """Return the seconds of so many sums."""
        dist.barrier()
        began = time.perf_counter()
        for _ in range(count):
            self.numbers.fill_(1)
            dist.all_reduce(self.numbers)
        seconds = time.perf_counter() - began
        if self.numbers[-1] != dist.get_world_size():
            raise ValueError(f"the sum is {self.numbers[-1]}")
        return seconds


if __name__ == "__main__":
    runner = Runner()
    runner.setup()
    runner.run(int(sys.argv[1]))  # the first ones are slower
    print(f"rank {dist.get_rank()}: {runner.run(int(sys.argv[1]))}", flush=True)
