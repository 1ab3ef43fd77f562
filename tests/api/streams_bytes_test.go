package api

import (
	"net/http"
	"path/filepath"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const yieldingBytes = `
from collections.abc import AsyncIterator, Iterator
from typing import Any

import cog

class Echo(cog.BaseRunner):
    def run(self, audio: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in audio:
            yield chunk[::-1]

class Threads(cog.BaseRunner):
    @cog.concurrent(max=2)
    def run(self, audio: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in audio:
            yield bytearray(chunk[::-1])

class Async(cog.BaseRunner):
    @cog.concurrent(max=2)
    async def run(self, audio: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for chunk in audio:
            yield memoryview(chunk[::-1])

class Returned(cog.BaseRunner):
    def run(self, audio: Iterator[bytes]) -> Iterator[bytes]:
        return (chunk[::-1] for chunk in audio)

class Mixed(cog.BaseRunner):
    def run(self, audio: Iterator[bytes]) -> Iterator[dict | str | bytes]:
        for chunk in audio:
            yield {"a": [chunk[::-1]]} if len(chunk) == 3 else chunk[::-1]

class Undeclared(cog.BaseRunner):
    def run(self, audio: Iterator[bytes]) -> Iterator[Any]:
        yield from audio
`

// TestStreamsIn_YieldsBytes are base64 in JSON, where the type of the output says that it yields bytes.
func TestStreamsIn_YieldsBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "run.py"), yieldingBytes)
	for class, want := range map[string]string{
		"Echo": `["Y2Jh","","/w=="]`, "Threads": `["Y2Jh","","/w=="]`, "Async": `["Y2Jh","","/w=="]`,
		"Returned": `["Y2Jh","","/w=="]`, "Mixed": `[{"a":["Y2Jh"]},"","/w=="]`, "Undeclared": "",
	} {
		s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:" + class, Args: []string{"--validate-output", "error"}})
		body := map[string]any{"input": harness.Input{"audio": []string{"YWJj", "", "/w=="}}}
		a := s.Do(http.MethodPost, "/predictions", body)
		events := s.Do(http.MethodPost, "/predictions", body, "Accept", "text/event-stream")
		if want == "" {
			harness.WantFailed(t, class, a, "output[0] is of type bytes, which JSON cannot hold")
			continue
		}
		assert.Equal(t, class, string(a.Output), want)
		assert.Contains(t, class+": events", string(events.Body), `"output":`+want)
		if class == "Echo" {
			harness.EqualJSON(t, "the document", documentOf(t, s, "PredictionResponse", "output"), `{"$ref":"#/components/schemas/Output"}`)
			document := s.Do(http.MethodGet, "/openapi.json", nil)
			assert.Contains(t, "the document", string(document.Body),
				`"Output":{"title":"Output","type":"array","items":{"type":"string","format":"byte"},"x-cog-array-type":"iterator"}`)
		}
	}
}
