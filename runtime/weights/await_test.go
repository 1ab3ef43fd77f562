package weights

import (
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"pinion/tests/assert"
)

// TestReadManifest: the names become names of files, so those that are none are refused.
func TestReadManifest(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "weights.json")
	list, err := ReadManifest(name)
	assert.True(t, list == nil && err == nil, "got %v, %v, want nothing of no file", list, err)
	for text, want := range map[string]string{
		`{"weights": [{"name": "../a", "target": "/src/a"}]}`: "is no name of a folder",
		`{"weights": [{"name": "a/b", "target": "/src/a"}]}`:  "is no name of a folder",
		`{"weights": [{"name": "a", "target": "src/a"}]}`:     "is not absolute",
		`{"weights": `: "unexpected end",
	} {
		assert.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		_, err := ReadManifest(name)
		failsWith(t, err, want)
	}
	assert.NoError(t, os.WriteFile(name, []byte(`{"weights": [{"name": "a", "target": "/src/a", "setDigest": "sha256:x"}]}`), 0o600))
	list = assert.Must(ReadManifest(name))(t)
	assert.True(t, len(list) == 1 && list[0] == Expected{"a", "/src/a", "sha256:x"}, "got %v", list)
}

// TestRun_Awaits: what another process pulls into a folder is there when its marker says so, with the right files.
func TestRun_Awaits(t *testing.T) {
	t.Parallel()
	data := content(2 << 20)
	release, opened := make(chan struct{}), atomic.Bool{}
	url := serve(t, func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Range") != "bytes=0-0" && !opened.Load() {
			select {
			case <-release:
			case <-req.Context().Done():
			}
		}
		ranges(w, req, data, `"a"`)
	})
	r := newRig(t)
	w := r.weight("base", url+"/a.bin")
	awaited := w
	awaited.Awaited, awaited.Sources = true, nil
	set := SetDigest([]File{{Path: "a.bin", Digest: digestPrefix + digest(data)}})
	awaited.Lock = &Locked{SetDigest: set}

	o := r.options()
	o.Timeout = time.Millisecond
	late := Start(o, []Weight{awaited}, func(*Weight, error) {})
	<-late.Done()
	failsWith(t, late.Err(), "they were not there within 1ms; it has none of Cog's markers: is its volume mounted")
	late.Close()

	waiting := Start(r.options(), []Weight{awaited}, func(*Weight, error) {})
	defer waiting.Close()
	o = r.options()
	o.Into = true
	puller := Start(o, []Weight{w}, func(*Weight, error) {})
	marker := func(name string) bool { _, is := readMarker(&w, name); return is }
	assert.Eventually(t, "the marker of the download", func() bool { return marker(markDownloading) })
	assert.False(t, waiting.Ended(), "it waits no more, and nothing is there")
	opened.Store(true)
	close(release)
	<-waiting.Done()
	assert.NoError(t, waiting.Err())
	r.checkFile(data, "base", "a.bin")
	<-puller.Done()
	puller.Close()

	other := awaited
	other.Lock = &Locked{SetDigest: SetDigest(nil)}
	failsWith(t, r.fetch(other), "has the wrong setDigest: expected "+SetDigest(nil)+", got "+set)
	w.Sources[0].URI = url[:len(url)-1] + "1/none" // a failed pull leaves what is ready
	o.Timeout = time.Nanosecond
	run := Start(o, []Weight{w}, func(*Weight, error) {})
	<-run.Done()
	assert.True(t, run.Failed() && marker(markReady), "a failed pull has removed the marker of what is there")
	run.Close()
	assert.NoError(t, os.Remove(filepath.Join(w.Target, cogFolder, markReady)))
	run = Start(o, []Weight{w}, func(*Weight, error) {})
	<-run.Done()
	run.Close()
	failsWith(t, r.fetch(awaited), "the program that brings them to "+w.Target+" has failed: ")
}
