"""Progress bars: carriage returns on stderr, beside lines on stdout."""

import sys

from cog import BaseRunner
from tqdm import tqdm, trange


class Runner(BaseRunner):
    def run(self, n: int) -> int:
        print("before")
        total = 0
        for i in trange(n, desc="denoise", mininterval=0, ascii=True, bar_format="{desc} {n_fmt}/{total_fmt}"):
            total += i
        with tqdm(total=2, file=sys.stdout, mininterval=0, bar_format="{n_fmt}") as bar:
            bar.update(2)
        tqdm.write("after")
        return total
