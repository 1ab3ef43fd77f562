package protocols

import (
	"path/filepath"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// sequencedModel has a streamed input of each kind.
const sequencedModel = `
from collections.abc import AsyncIterator, Iterator
from typing import TypedDict

import cog
import numpy as np
from cog import Input, Path
from numpy.typing import NDArray

class Record(TypedDict):
    x: int
    name: str

class Words(cog.BaseRunner):
    def run(self, words: Iterator[str] = Input(max_length=9), loud: bool = False) -> Iterator[str]:
        for word in words:
            if word != "none":
                yield word.upper() if loud else word

class AsyncWords(cog.BaseRunner):
    @cog.concurrent(max=4)
    async def run(self, words: AsyncIterator[str] = Input(max_length=9), loud: bool = False) -> AsyncIterator[str]:
        async for word in words:
            if word != "none":
                yield word.upper() if loud else word

class ThreadWords(Words):
    @cog.concurrent(max=4)
    def run(self, words: Iterator[str] = Input(max_length=9), loud: bool = False) -> Iterator[str]:
        yield from super().run(words, loud)

class Numbers(cog.BaseRunner):
    def run(self, numbers: Iterator[int]) -> Iterator[int]:
        total = 0
        for number in numbers:
            total += number
            yield total

class Arrays(cog.BaseRunner):
    def run(self, arrays: Iterator[NDArray[np.float32]]) -> Iterator[str]:
        for array in arrays:
            yield f"{array.dtype}{array.shape} {array.sum()}"

class Chunks(cog.BaseRunner):
    def run(self, audio: Iterator[bytes]) -> str:
        return ",".join(chunk.hex() for chunk in audio)

class Files(cog.BaseRunner):
    def run(self, files: Iterator[Path]) -> Iterator[int]:
        for file in files:
            yield len(file.read_bytes())

class Records(cog.BaseRunner):
    def run(self, records: Iterator[Record]) -> Iterator[str]:
        for record in records:
            yield f"{record['x']} {record['name']}"
`

// TestOipgrpc_Sequences: those of Triton's client are sessions of a model with a streamed input.
func TestOipgrpc_Sequences(t *testing.T) {
	t.Parallel()
	tool := harness.Tool(t, "venvs/protocols/bin/python")
	client := harness.Absolute(t, "clients/triton_sequences.py")
	python := harness.Pythons(t)[0]
	harness.NeedModule(t, python, "numpy")
	for class, model := range map[string]string{
		"AsyncWords": "words", "ThreadWords": "words", "Numbers": "numbers", "Arrays": "arrays",
		"Chunks": "chunks", "Files": "files", "Records": "records",
	} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			harness.WriteFile(t, filepath.Join(dir, "run.py"), sequencedModel)
			s := harness.Ready(t, harness.Options{
				Python: python.Path, Dir: dir, Model: "run.py:" + class,
				Args: []string{"--grpc-port=0", "--queue=8", "--model", model},
			})
			harness.RunTool(t, t.TempDir(), nil, tool, "-B", client, s.GRPCAddress(), model)
			assert.Eventually(t, "no session is left", func() bool {
				return harness.Scrape(t, s).Value("pinion_stream_sessions") == 0
			})
		})
	}
}
