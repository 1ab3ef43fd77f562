"""Serves the transformer in several ranks."""

import os

import torch
import torch.distributed as dist
from cog import BaseRunner, ConcatenateIterator, Input
from transformer import Transformer


class Runner(BaseRunner):
    def setup(self) -> None:
        # A GPU for each rank would be torch.cuda.set_device(int(os.environ["LOCAL_RANK"])) and "nccl".
        dist.init_process_group("gloo")
        torch.set_num_threads(1)
        self.model = Transformer(dist.get_rank(), dist.get_world_size())
        print(f"rank {dist.get_rank()} of {dist.get_world_size()} is process {os.getpid()}")

    def run(
        self,
        prompt: str = Input(description="Numbers from 0 to 511, with spaces", default="1 2 3"),
        count: int = Input(description="How many words to add", default=8, ge=1, le=512),
    ) -> ConcatenateIterator[str]:
        words = [int(word) for word in prompt.split()]
        for _ in range(count):
            words.append(self.model.next_word(words))
            yield f"{words[-1]} "  # a cancel stops all ranks here
