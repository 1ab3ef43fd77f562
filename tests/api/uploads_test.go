package api

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const uploadingModel = `
from pathlib import Path as Folder
from typing import Iterator
from cog import Path

def steps() -> Iterator[Path]:
    for i in range(6):
        target = Path("step.png")
        target.write_text(str(i))
        yield target

def together() -> list[Path]:
    made = []
    for i in range(3):
        folder = Folder(str(i))
        folder.mkdir(exist_ok=True)
        (folder / "step.png").write_text(str(i))
        made.append(Path(folder / "step.png"))
    return made
`

// uploadStore keeps what was put where, in the order in which the uploads ended.
type uploadStore struct {
	*httptest.Server

	mu   sync.Mutex
	puts []string
}

func newUploadStore(t *testing.T, answer func(http.ResponseWriter)) *uploadStore {
	s := &uploadStore{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.puts = append(s.puts, r.URL.Path+" "+string(body))
		s.mu.Unlock()
		if answer != nil {
			answer(w)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *uploadStore) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.puts)
}

// TestUploads_OfOneNameKeepOrderInWhichTheyWereYielded, so the last one stays.
func TestUploads_OfOneNameKeepOrderInWhichTheyWereYielded(t *testing.T) {
	t.Parallel()
	store := newUploadStore(t, nil)
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", uploadingModel), Model: "run.py:steps", Args: []string{"--upload-url", store.URL},
	})
	var want []string
	for round := range 5 {
		s.Succeed(harness.Input{})
		for i := range 6 {
			want = append(want, fmt.Sprint("/step.png ", i))
		}
		got := store.list()
		assert.TrueNow(t, slices.Equal(got, want), "round %d: got the uploads %q, want %q", round, got, want)
	}
}

func TestUploads_OfOneNameInListHaveURLsOfTheirOwn(t *testing.T) {
	t.Parallel()
	store := newUploadStore(t, nil)
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", uploadingModel), Model: "run.py:together",
		Args: []string{"--upload-url", store.URL},
	})
	a := s.Succeed(harness.Input{})
	harness.EqualJSON(t, "the output", a.Output,
		fmt.Sprintf(`["%[1]s/step.png","%[1]s/step-1.png","%[1]s/step-2.png"]`, store.URL))
	got := store.list()
	slices.Sort(got)
	assert.Equal(t, "the uploads", fmt.Sprint(got), "[/step-1.png 1 /step-2.png 2 /step.png 0]")
}

func TestUploads_LocationThatIsNoWebURLIsNotOutput(t *testing.T) {
	t.Parallel()
	store := newUploadStore(t, func(w http.ResponseWriter) {
		w.Header().Set("Location", "javascript:alert(document.domain)//")
		w.WriteHeader(http.StatusCreated)
	})
	s := harness.Ready(t, harness.Options{Dir: harness.NewFolder(t, "run.py", uploadingModel), Model: "run.py:steps"})
	a := s.Create(map[string]any{"input": harness.Input{}, "output_file_prefix": store.URL})
	harness.WantStatus(t, "the prediction", a, "succeeded")
	url := store.URL + "/step.png"
	harness.EqualJSON(t, "the output", a.Output, fmt.Sprintf(`[%[1]q,%[1]q,%[1]q,%[1]q,%[1]q,%[1]q]`, url))
}
