package api

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// versionsFile serves two versions of the model ocr, and the model other, by a file.
func versionsFile(t testing.TB, traffic string, args ...string) (s *harness.Server, dir, file string) {
	t.Helper()
	python := harness.OldestPython(t)
	dir, _ = harness.ModelFolders(t, map[string]harness.Python{"one": python, "two": python, "other": python})
	file = filepath.Join(dir, "pinion.yaml")
	harness.WriteFile(t, file, versionsText+traffic)
	s = harness.Start(t, harness.Options{Dir: t.TempDir(), Models: []string{"--config", file}, Args: args})
	harness.WaitModels(t, s)
	return s, dir, file
}

const versionsText = "models:\n  ocr: {path: one, queue: 100}\n  ocr@2: {path: two, queue: 100}\n  other: {path: other}\n"

// shares counts which version answers n requests for a path.
func shares(t testing.TB, s *harness.Server, path string, n int) map[string]int {
	t.Helper()
	count := map[string]int{}
	for range n {
		model, _, _, _ := harness.SaidBy(t, s.Do(http.MethodPost, path, map[string]any{"input": harness.Input{}}))
		count[model]++
	}
	return count
}

func wantShares(t testing.TB, s *harness.Server, first, second int) {
	t.Helper()
	for _, path := range []string{"/predictions", "/models/ocr/predictions"} {
		if got := shares(t, s, path, 100); got["one"] != first || got["two"] != second {
			t.Errorf("%s: got %v, want one %d and two %d", path, got, first, second)
		}
	}
}

func shift(t testing.TB, s *harness.Server, first, second int) {
	t.Helper()
	got := s.Do(http.MethodPost, "/models/ocr/traffic", map[string]any{"ocr@1": first, "ocr@2": second})
	harness.WantAnswer(t, "traffic", got, http.StatusOK, fmt.Sprintf(`{"traffic":{"ocr@1":%d,"ocr@2":%d}}`, first, second))
}

// TestVersions_Shares: of each 100 requests, each version gets its share, as the file and then a client says.
func TestVersions_Shares(t *testing.T) {
	t.Parallel()
	s, _, file := versionsFile(t, "traffic: {ocr@1: 90, ocr@2: 10}\n", "--reload")
	wantShares(t, s, 90, 10)
	shift(t, s, 25, 75)
	wantShares(t, s, 25, 75)
	got := shares(t, s, "/models/ocr@2/predictions", 5)
	assert.True(t, got["two"] == 5, "got %v, want version 2 alone", got)
	got = shares(t, s, "/models/ocr@1/predictions", 5)
	assert.True(t, got["one"] == 5, "got %v, want version 1 alone", got)
	harness.WriteFile(t, file, versionsText+"traffic: {ocr@1: 90, ocr@2: 20}\n")
	s.Signal(syscall.SIGHUP)
	mistake := s.WaitLog("the file of models has a mistake: nothing changes")
	assert.Contains(t, "mistake.Raw", mistake.Raw, file+":5: traffic: the shares of ocr add up to 110: must be 100")
	wantShares(t, s, 25, 75)
	harness.WriteFile(t, file, versionsText+"traffic: {ocr@2: 100}\n")
	s.Signal(syscall.SIGHUP)
	s.WaitLog("the file of models is read again")
	assert.Eventually(t, "the file's traffic", func() bool {
		return strings.Contains(string(s.Do(http.MethodGet, "/models/ocr/traffic", nil).Body), `"ocr@2":100`)
	})
	page := string(s.Do(http.MethodGet, "/metrics", nil).Body)
	for _, want := range []string{
		`pinion_predictions_total{mode="sync",model="ocr",model_version="1",`,
		`pinion_predictions_total{mode="sync",model="ocr",model_version="2",`,
		`pinion_workers{model="other",state="ready"} 1`,
	} {
		assert.Contains(t, "/metrics", page, want)
	}
}

// TestVersions_Refusals of traffic.
func TestVersions_Refusals(t *testing.T) {
	t.Parallel()
	s, _, _ := versionsFile(t, "", "--reload")
	for body, want := range map[string]string{
		`{"ocr@1":90}`:                      "the shares of ocr add up to 90: must be 100",
		`{"ocr@1":90,"ocr@2":20}`:           "the shares of ocr add up to 110: must be 100",
		`{"ocr@1":90,"ocr@3":10}`:           `unknown model \"ocr@3\": the versions are ocr@1, ocr@2; did you mean \"ocr@1\"?`,
		`{"other":100}`:                     `unknown model \"other@1\"`,
		`{}`:                                "the shares of ocr add up to 0: must be 100",
		`{"ocr@1":-10,"ocr@2":110}`:         "must be 0 to 100",
		`{"ocr@1":99.5,"ocr@2":0.5}`:        "must be a whole number",
		`{"ocr@1":"90","ocr@2":10}`:         "must be a whole number",
		`{"ocr@1":50,"ocr@1":50}`:           "is given twice",
		`{"ocr@1":50,"ocr":50}`:             "is given twice",
		`[]`:                                "must be an object of shares",
		`{`:                                 "invalid JSON",
		`{"ocr@1":99999999999999999999999}`: "must be a whole number",
	} {
		harness.WantAnswer(t, body, s.Do(http.MethodPost, "/models/ocr/traffic", []byte(body)), http.StatusBadRequest, want)
	}
	harness.WantCode(t, "traffic of a model without versions", s.Do(http.MethodGet, "/models/other/traffic", nil),
		http.StatusNotFound)
	harness.WantCode(t, "through a proxy", s.Do(http.MethodPost, "/models/ocr/traffic", []byte(`{"ocr@2":100}`),
		"X-Forwarded-For", "192.0.2.1"), http.StatusForbidden)
	wantShares(t, s, 100, 0)
}

// TestVersions_NoRequestIsLost while traffic goes to and fro, and a version leaves.
func TestVersions_NoRequestIsLost(t *testing.T) {
	t.Parallel()
	s, _, file := versionsFile(t, "", "--reload")
	var lost, answered atomic.Int64
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := harness.PredictBy(s, "ocr", harness.Input{}); got.Code != http.StatusOK {
					lost.Add(1)
					t.Errorf("got %s, want Code 200", got)
					return
				}
				answered.Add(1)
			}
		})
	}
	some := func() {
		before := answered.Load()
		assert.Eventually(t, "more answers", func() bool { return answered.Load() > before+50 || lost.Load() > 0 })
	}
	for _, share := range []int{10, 100, 0, 50, 100} {
		shift(t, s, 100-share, share)
		some()
	}
	harness.WriteFile(t, file, strings.Replace(versionsText, "  ocr: {path: one, queue: 100}\n", "", 1))
	s.Signal(syscall.SIGHUP)
	assert.Eventually(t, "version 1 has left", func() bool {
		return s.Do(http.MethodGet, "/models/ocr@1", nil).Code == http.StatusNotFound
	})
	some()
	close(stop)
	clients.Wait()
}

// TestVersions_PredictionsByID are found by the model's name, whichever version has them.
func TestVersions_PredictionsByID(t *testing.T) {
	t.Parallel()
	s, dir, _ := versionsFile(t, "traffic: {ocr@2: 100}\n", "--reload")
	open := harness.MakeFIFO(t, filepath.Join(dir, "two"), "gate")
	running := make(chan harness.Answer, 1)
	put := func() harness.Answer {
		return s.Do(http.MethodPut, "/models/ocr/predictions/p1", map[string]any{"input": harness.Input{"gate": "gate"}})
	}
	go func() { running <- put() }()
	s.WaitLog("waiting gate")
	shift(t, s, 100, 0)
	harness.WantAnswer(t, "GET", s.Do(http.MethodGet, "/models/ocr/predictions/p1", nil), http.StatusOK, `"processing"`)
	harness.WantCode(t, "a PUT that joins", put(), http.StatusAccepted)
	open()
	saidBy(t, harness.Receive(t, running), "two")
	harness.WantCode(t, "cancel of an unknown one", s.Do(http.MethodPost, "/models/ocr/predictions/p2/cancel", nil),
		http.StatusNotFound)
}

// TestVersions_CancelByName ends a prediction of whichever version has it, also after the traffic has shifted.
func TestVersions_CancelByName(t *testing.T) {
	t.Parallel()
	s, dir, _ := versionsFile(t, "traffic: {ocr@2: 100}\n", "--reload")
	harness.MakeFIFO(t, filepath.Join(dir, "two"), "gate")
	for n, path := range []string{"/models/ocr", "", "/models/ocr@2"} {
		shift(t, s, 0, 100)
		running := make(chan harness.Answer, 1)
		go func() {
			running <- s.Do(http.MethodPut, "/models/ocr/predictions/p1", map[string]any{"input": harness.Input{"gate": "gate"}})
		}()
		assert.Eventually(t, "it waits", func() bool { return s.Log.Count("waiting gate") == n+1 })
		shift(t, s, 100, 0)
		harness.WantCode(t, path+": cancel", s.Do(http.MethodPost, path+"/predictions/p1/cancel", nil), http.StatusOK)
		harness.WantStatus(t, path+": it ended with", harness.Receive(t, running), "canceled")
	}
}

// TestVersions_OtherProtocols choose a version by share or by its number, and list both.
func TestVersions_OtherProtocols(t *testing.T) {
	t.Parallel()
	s, _, _ := versionsFile(t, "traffic: {ocr@2: 100}\n", "--reload")
	infer := []byte(`{"inputs":[{"name":"text","datatype":"BYTES","shape":[1],"data":["x"]}]}`)
	for path, want := range map[string]string{
		"/v2/models/ocr/infer":            `"model_name":"ocr","model_version":"2"`,
		"/v2/models/ocr/versions/1/infer": `"model_version":"1"`,
		"/v2/models/ocr@1/infer":          `"model_version":"1"`,
	} {
		harness.WantAnswer(t, path, s.Do(http.MethodPost, path, infer), http.StatusOK, want)
	}
	harness.WantAnswer(t, "an unknown version", s.Do(http.MethodPost, "/v2/models/ocr/versions/3/infer", infer),
		http.StatusNotFound, `model \"ocr\" has no version \"3\": it has \"1\", \"2\"`)
	harness.WantAnswer(t, "metadata", s.Do(http.MethodGet, "/v2/models/ocr", nil), http.StatusOK, `"versions":["1","2"]`)
	harness.WantAnswer(t, "index", s.Do(http.MethodPost, "/v2/repository/index", nil), http.StatusOK,
		`{"name":"ocr","version":"2","state":"READY"`)
	harness.WantAnswer(t, "KServe",
		s.Do(http.MethodPost, "/v1/models/ocr:predict", []byte(`{"instances":[{"text":"x"}]}`)),
		http.StatusOK, `"two 3.`)
}

// TestVersions_MisspeltNamesAreAsked after, by every way to name a model.
func TestVersions_MisspeltNamesAreAsked(t *testing.T) {
	t.Parallel()
	s, _, _ := versionsFile(t, "", "--reload")
	ask := func(near string) string { return fmt.Sprintf(`; did you mean \"%s\"?`, near) }
	for path, near := range map[string]string{
		"/models/orc/predictions": "ocr", "/models/OCR/load": "ocr", "/models/ocr@3/predictions": "ocr@1",
		"/models/othr/unload": "other", "/models/ocrr@2/cancel": "ocr@2", "/models/orc/traffic": "ocr",
		"/v2/models/orc/infer": "ocr", "/v2/models/ocrr@2/infer": "ocr@2", "/v2/repository/models/othr/load": "other",
		"/v1/models/orc:predict": "ocr",
	} {
		harness.WantAnswer(t, path, s.Do(http.MethodPost, path, []byte(`{}`)), http.StatusNotFound, ask(near))
	}
	harness.WantAnswer(t, "OpenAI", s.Do(http.MethodGet, "/v1/models/orc", nil), http.StatusNotFound, ask("ocr"))
	far := s.Do(http.MethodPost, "/models/translate/predictions", []byte(`{}`))
	harness.WantAnswer(t, "no name is near", far, http.StatusNotFound, `It has ocr, ocr@1, ocr@2, other"}`)
}

// TestVersions_BrokenVersionGetsNothing: a share of a version that takes no predictions goes to the others.
func TestVersions_BrokenVersionGetsNothing(t *testing.T) {
	t.Parallel()
	s, _, _ := versionsFile(t, "traffic: {ocr@1: 50, ocr@2: 50}\n", "--reload")
	harness.WantCode(t, "unload", s.Do(http.MethodPost, "/models/ocr@2/unload", nil), http.StatusOK)
	wantShares(t, s, 100, 0)
	harness.WantAnswer(t, "promotion of what is unloaded",
		s.Do(http.MethodPost, "/models/ocr/traffic", []byte(`{"ocr@2":100}`)), http.StatusServiceUnavailable,
		"ocr@2 takes no predictions")
	harness.WantCode(t, "load", s.Do(http.MethodPost, "/models/ocr@2/load", nil), http.StatusOK)
	wantShares(t, s, 50, 50)
}

// TestVersions_Mirror gets a copy of each request, whose answer is dropped and compared.
func TestVersions_Mirror(t *testing.T) {
	t.Parallel()
	s, dir, _ := versionsFile(t, "mirror: ocr@2\n", "--reload")
	got := shares(t, s, "/models/ocr/predictions", 10)
	assert.True(t, got["one"] == 10, "got %v, want answers of version 1 alone", got)
	mirrored := func(result string, n int) func() bool {
		want := fmt.Sprintf(`pinion_mirrored_predictions_total{model="ocr",model_version="2",result=%q} %d`+"\n", result, n)
		return func() bool { return bytes.Contains(s.Do(http.MethodGet, "/metrics", nil).Body, []byte(want)) }
	}
	assert.Eventually(t, "10 that ended alike", mirrored("same", 10))
	harness.WriteFile(t, filepath.Join(dir, "two", "run.py"), strings.Replace(harness.SeveralModel,
		"if gate:", "if text == \"bad\":\n            raise ValueError(\"no such text\")\n        if gate:", 1))
	harness.WantCode(t, "reload", s.Do(http.MethodPost, "/models/ocr@2/unload", nil), http.StatusOK)
	harness.WantCode(t, "reload", s.Do(http.MethodPost, "/models/ocr@2/load", nil), http.StatusOK)
	saidBy(t, harness.PredictBy(s, "ocr", harness.Input{"text": "bad"}), "one")
	assert.Eventually(t, "one that ended otherwise", mirrored("different", 1))
	s.WaitLog("the mirror's prediction ended differently")
	harness.WantAnswer(t, "traffic", s.Do(http.MethodGet, "/models/ocr/traffic", nil), http.StatusOK,
		`{"traffic":{"ocr@1":100,"ocr@2":0},"mirror":"ocr@2"}`)
	infer := []byte(`{"inputs":[{"name":"text","datatype":"BYTES","shape":[1],"data":["x"]}]}`)
	harness.WantCode(t, "infer", s.Do(http.MethodPost, "/v2/models/ocr/infer", infer), http.StatusOK)
	assert.Eventually(t, "a copy of another protocol's request", mirrored("same", 11))
}

// TestVersions_MirrorThatHangs holds nothing that the version needs that serves: neither the memory budget, nor the
// files and the memory of requests that have ended.
func TestVersions_MirrorThatHangs(t *testing.T) {
	t.Parallel()
	const code = `
import os, time
from cog import BaseRunner, Path

class Runner(BaseRunner):
    def run(self, text: str = "", file: Path | None = None) -> str:
        while %s:
            time.sleep(0.05)
        return text + (file.read_text() if file else "")
`
	dir := t.TempDir()
	for name, hangs := range map[string]string{"one": "False", "two": `not os.path.exists("go.txt")`} {
		harness.WriteFile(t, filepath.Join(dir, name, "run.py"), fmt.Sprintf(code, hangs))
	}
	file := filepath.Join(dir, "pinion.yaml")
	harness.WriteFile(t, file, "models:\n  m: {path: one}\n  m@2: {path: two, queue: 100}\nmirror: m@2\n")
	s := harness.Start(t, harness.Options{
		Dir: dir, Models: []string{"--config", file}, Python: harness.AnyPython(t).Path,
		Args: []string{"--memory-budget", "16MiB"},
	})
	harness.WaitModels(t, s)
	defer harness.WriteFile(t, filepath.Join(dir, "two", "go.txt"), "")
	text := strings.Repeat("x", 400_000)
	for i := range 70 {
		a := harness.PredictBy(s, "m", harness.Input{"text": text})
		harness.WantCode(t, fmt.Sprintf("request %d beside a mirror that hangs", i), a, http.StatusOK)
		assert.EqualNow(t, "its output", len(a.Text(t)), len(text))
	}
	form := "--B\r\nContent-Disposition: form-data; name=file; filename=a.txt\r\n\r\n" + text + "\r\n--B--\r\n"
	for i := range 70 {
		a := s.Do(http.MethodPost, "/models/m/predictions", []byte(form), "Content-Type", "multipart/form-data; boundary=B")
		harness.WantCode(t, fmt.Sprintf("form %d beside a mirror that hangs", i), a, http.StatusOK)
		assert.EqualNow(t, "its output", len(a.Text(t)), len(text))
	}
	used, limit, _ := harness.MemoryBudget(t, s)
	assert.True(t, used <= limit/4+1<<20, "%d of %d bytes are used, want at most what kept results may have", used, limit)
	page := string(s.Do(http.MethodGet, "/metrics", nil).Body)
	assert.Contains(t, "/metrics", page, `pinion_mirrored_predictions_total{model="m",model_version="2",result="left_out"} 13`)
}

// TestVersions_FilesThatCannotBeServed end the start with exit code 2, the file and the line.
func TestVersions_FilesThatCannotBeServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"one", "two", "other"} {
		harness.WriteFile(t, filepath.Join(dir, name, "run.py"), harness.SeveralModel)
	}
	file := filepath.Join(dir, "pinion.yaml")
	for text, want := range map[string]string{
		"traffic: {ocr@1: 90, ocr@2: 5}\n":    `:5: traffic: the shares of ocr add up to 95: must be 100`,
		"traffic: {ocr@1: 90, ocs@2: 10}\n":   `:5: traffic: unknown model "ocs@2": the versions are ocr@1, ocr@2, other@1; did you mean "ocr@2"?`,
		"traffic: {ocr@1: ninety}\n":          `:5: traffic: invalid share of ocr@1: must be a whole number`,
		"traffic: [90, 10]\n":                 `:5: traffic is a list: must be a mapping`,
		"traffic:\n  ocr@1: 90\n  ocr@1: 1\n": `:7: traffic: "ocr@1" is given twice`,
		"mirror: ocr@3\n":                     `:5: mirror: unknown model "ocr@3"`,
		"mirror: other\n":                     `:5: mirror: other@1 is the only version of other`,
		"trafic: {ocr@2: 100}\n":              `:5: unknown key "trafic"`,
		"  ocr@1: {path: one}\n":              `:5: models: "ocr@1" and "ocr@1" are one version`,
		"  ocr@: {path: one}\n":               `:5: invalid model name "ocr@"`,
		"  m: {path: one, traffic: 7}\n":      `:5: m: unknown key "traffic"`,
	} {
		harness.WriteFile(t, file, versionsText+text)
		harness.WantRefused(t, harness.Options{
			Dir: dir, Models: []string{"--config", file}, Python: harness.AnyPython(t).Path,
		}, 2, "pinion: "+file+want)
	}
}
