package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func dataURL(kind, content string) string {
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString([]byte(content))
}

// received is what the model filing.py says of its files.
type received struct {
	Types    []string `json:"types"`
	Absolute []bool   `json:"absolute"`
	Names    []string `json:"names"`
	Contents []string `json:"contents"`
}

func TestFiles_DataURLsArriveAsFilesAndAreRemoved(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "filing.py:Runner"})
	for _, in := range []harness.Input{
		{
			"file": dataURL("image/png", "\x89PNG\x00\xff"), "more": []string{dataURL("text/plain", "a"), "data:,plain%20text"},
			"note": "data:text/plain;charset=utf-8,x",
		},
		{"file": dataURL("application/octet-stream", strings.Repeat("b", 3<<20))},
		{"file": dataURL("", "")},
	} {
		a := s.Succeed(in)
		var got received
		a.Decode(t, &got)
		for i, name := range got.Names {
			if !got.Absolute[i] || got.Types[i] != "Path" {
				t.Errorf("%s arrived as %s, absolute: %v, want Absolute[i] true and Types[i] Path", name, got.Types[i],
					got.Absolute[i])
			}
		}
		switch {
		case len(got.Names) == 4:
			assert.Equal(t, "contents", strings.Join(got.Contents, "|"), "\u0089PNG\x00\u00ff|a|plain text|x")
			assert.Equal(t, "extension of the first file", filepath.Ext(got.Names[0]), ".png")
			assert.Equal(t, "extension of the second file", filepath.Ext(got.Names[1]), ".txt")
		case got.Contents[0] != "" && len(got.Contents[0]) != 3<<20:
			t.Errorf("%d bytes arrived, want %d bytes", len(got.Contents[0]), 3<<20)
		}
		folder := strings.TrimSpace(strings.TrimPrefix(a.Logs, "folder"))
		assert.True(t, strings.HasPrefix(folder, s.Tmp), "the files lay in %s, want it to start with %q", folder, s.Tmp)
		removed(t, folder)
	}
}

// TestFiles_BeginsWithItsFiles: with a slot free, a prediction has begun when its files are fetched, also where that
// fails; in the line it has not.
func TestFiles_BeginsWithItsFiles(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "filing.py:Runner", Args: []string{"--queue", "4"}})
	hooks := make(chan harness.Prediction, 8)
	asked, answer := make(chan string, 4), make(chan int)
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			asked <- r.URL.Path
			w.WriteHeader(<-answer)
			return
		}
		var p harness.Prediction
		err := json.NewDecoder(r.Body).Decode(&p)
		assert.True(t, err == nil, "read a webhook: got %v, want no error", err)
		hooks <- p
	}))
	defer outside.Close()
	create := func(id string) {
		request := map[string]any{
			"id": id, "input": harness.Input{"file": outside.URL + "/" + id}, "webhook": outside.URL,
			"webhook_events_filter": []string{"start", "completed"},
		}
		a := s.Create(request, "Prefer", "respond-async")
		assert.TrueNow(t, a.Code == http.StatusAccepted, "%s: %s, want Code 202", id, a)
		harness.Receive(t, asked)
	}
	status := func(id string) string { return s.Do(http.MethodGet, "/predictions/"+id, nil).Status }

	create("first")
	if p := harness.Receive(t, hooks); p.ID != "first" || p.Status != "processing" {
		t.Errorf("while its file is fetched: %+v, want ID first and Status processing", p)
	}
	create("second")
	if first, second := status("first"), status("second"); first != "processing" || second != "starting" {
		t.Errorf("of two in one slot, while their files are fetched: %s and %s, want processing and starting", first, second)
	}
	answer <- http.StatusNotFound
	answer <- http.StatusOK
	seen := map[string][]string{"first": {"processing"}}
	for range 3 {
		p := harness.Receive(t, hooks)
		seen[p.ID] = append(seen[p.ID], p.Status)
	}
	if got := fmt.Sprint(seen); got != "map[first:[processing failed] second:[processing succeeded]]" &&
		got != "map[first:[processing succeeded] second:[failed]]" {
		t.Errorf("webhooks: got %s, want processing once for each, then failed and succeeded", got)
	}
}

func TestFiles_PathOutputsBecomeDataURLs(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "filing.py:upper"})
		harness.EqualJSON(t, "own file", s.Succeed(harness.Input{"file": dataURL("text/plain", "abc")}).Output,
			`"`+dataURL("text/plain", "ABC")+`"`)
	})
	for model, c := range map[string]struct {
		in   harness.Input
		want string
	}{
		"back":    {harness.Input{"file": dataURL("image/png", "\x89PNG")}, `"` + dataURL("image/png", "\x89PNG") + `"`},
		"several": {harness.Input{}, ""},
	} {
		s := harness.Ready(t, harness.Options{Model: "filing.py:" + model})
		a := s.Succeed(c.in)
		if c.want != "" {
			harness.EqualJSON(t, model, a.Output, c.want)
			continue
		}
		var content [256]byte
		for i := range content {
			content[i] = byte(i)
		}
		want, _ := json.Marshal(map[string]any{ // strings only
			"files": []any{
				dataURL("application/json", "{}"),
				map[string]any{"second": dataURL("application/octet-stream", string(content[:]))},
			},
			"open": dataURL("text/plain", "3"),
		})
		harness.EqualJSON(t, model, a.Output, string(want))
	}
}

func TestFiles_FileObjectsAndFoldersAsOutputs(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "filing.py:FileLike"})
	a := s.Succeed(harness.Input{"how": "buffer"})
	assert.True(t, strings.HasSuffix(a.Text(t), ";base64,"+base64.StdEncoding.EncodeToString([]byte("abc"))),
		"got %s, want Text ending in %q", a, ";base64,"+base64.StdEncoding.EncodeToString([]byte("abc")))
	assert.Contains(t, "error", s.Fail(harness.Input{"how": "folder"}).Error, "folder")
}

func TestFile_ThatIsLeftOutIsNone(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "typed.py:Where"})
	for want, in := range map[string]harness.Input{
		"": {}, "a": {"file": "data:,a"}, "a b": {"file": "data:,a", "files": []string{"data:,b"}},
		"b": {"file": nil, "files": []string{"data:,b"}},
	} {
		assert.Equal(t, fmt.Sprint(in), s.Succeed(in).Text(t), want)
	}
}
