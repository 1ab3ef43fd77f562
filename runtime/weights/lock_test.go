package weights

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// lockOf returns a lock of weights whose one file has a content.
func lockOf(w Weight, name string, data []byte) *Lock {
	f := File{name, int64(len(data)), digestPrefix + digest(data)}
	return &Lock{Version: 1, Weights: []Locked{{
		Name: w.Name, Target: w.Written, Files: []LockedFile{{File: f}}, SetDigest: SetDigest([]File{f}),
		Source: &LockedSource{URI: w.Sources[0].URI},
	}}}
}

func lockText(l *Lock) string {
	data, _ := json.MarshalIndent(l, "", "  ")
	return string(data)
}

// TestParseLock_NamesWhatIsWrong: a lock that cannot be followed is refused with its line.
func TestParseLock_NamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good := lockText(lockOf(r.weight("base", "https://host/a.bin"), "a.bin", []byte("a")))
	l := assert.Must(ParseLock([]byte(good)))(t)
	assert.Equal(t, "line", l.Weights[0].line, 6)
	for change, want := range map[string]string{
		`"version": 1|"version": 2`:             "weights.lock:1: the lock has version 2, and this Pinion reads version 1",
		`"version": 1|"version": "v1"`:          "weights.lock:2: ",
		`"weights": [|"weights": {`:             "weights.lock:",
		`"path": "a.bin"|"path": "../a.bin"`:    `weights.lock:6: weights "base": the path "../a.bin" leaves the folder`,
		`"path": "a.bin"|"path": "a\nb"`:        "has a control character",
		`"path": "a.bin"|"path": ".cog/ready"`:  "belongs to the markers",
		`"digest": "sha256:|"digest": "sha512:`: "has no size or no digest",
		`"size": 1|"size": -1`:                  "has no size or no digest",
		`"setDigest": "sha256:|"setDigest": "`:  "its setDigest is",
	} {
		from, to, _ := strings.Cut(change, "|")
		text := strings.Replace(good, from, to, 1)
		if from == `"digest": "sha256:` {
			text = strings.Replace(good, from, to, -1)
		}
		assert.True(t, text != good, "%s changes nothing", change)
		_, err := ParseLock([]byte(text))
		failsWith(t, err, want)
	}
}

// TestLock_Compare: what differs between the lock and cog.yaml is named; how Cog writes a path or a scheme is no
// difference.
func TestLock_Compare(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		uri, locked string
		change      func(w *Weight)
		want        string
	}{
		"the same":      {"https://h/a", "https://h/a", nil, ""},
		"a path":        {"weights/", "file://./weights", nil, ""},
		"another path":  {"file:///srv/a", "file:///srv/b", nil, "source file:///srv/b, not file:///srv/a"},
		"the scheme":    {"huggingface://o/r@1", "hf://o/r@1", nil, ""},
		"another file":  {"https://h/a?s=secret", "https://h/b", nil, "source https://h/b, not https://h/a"},
		"patterns":      {"hf://o/r", "hf://o/r", func(w *Weight) { w.Sources[0].Include = []string{"*.bin"} }, `include [], not ["*.bin"]`},
		"a target":      {"hf://o/r", "hf://o/r", func(w *Weight) { w.Written = "/src/b" }, "target /src/a, not /src/b"},
		"more sources":  {"hf://o/r", "hf://o/r", func(w *Weight) { w.Sources = append(w.Sources, Source{URI: "x"}) }, "1 sources, not 2"},
		"another name":  {"hf://o/r", "hf://o/r", func(w *Weight) { w.Name = "vae" }, "it has no weights vae"},
		"a secret left": {"https://h/a?s=secret", "https://h/a?s=other", nil, "source https://h/a, not https://h/a"},
	} {
		r := newRig(t)
		w := r.weight("base", test.locked)
		w.Written = "/src/a"
		l := lockOf(w, "a", []byte("a"))
		w.Sources[0].URI = test.uri
		if test.change != nil {
			test.change(&w)
		}
		list := []Weight{w}
		drift := l.Compare([]string{w.Name}, list)
		if test.want == "" {
			assert.True(t, len(drift) == 0 && list[0].Lock != nil, "%s: got %v", name, drift)
			continue
		}
		assert.True(t, list[0].Lock == nil && strings.Contains(drift[0].Error(), test.want), "%s: got %v", name, drift)
		if w.Name == "vae" {
			assert.True(t, len(drift) == 2 && len(l.Orphans()) == 1, "got %v", drift)
		}
	}
}

// TestRun_FollowsTheLock: only the files of the lock are fetched; another one is an error, unless the cache has the right
// one. Then no source is asked.
func TestRun_FollowsTheLock(t *testing.T) {
	t.Parallel()
	data, other := content(2000), content(2001)
	now := data
	asked := 0
	url := serve(t, func(w http.ResponseWriter, req *http.Request) {
		asked++
		ranges(w, req, now, `"`+digest(now)+`"`)
	})
	r := newRig(t)
	w := r.weight("base", url+"/a.bin")
	w.Lock = &lockOf(w, "a.bin", data).Weights[0]
	now = other
	failsWith(t, r.fetch(w), "a.bin has the wrong size: expected 2000 bytes, got 2001 bytes; 'pinion weights lock'")
	now = append([]byte{data[0] + 1}, data[1:]...)
	failsWith(t, r.fetch(w), "wrong SHA-256: expected sha256:"+digest(data))
	assert.False(t, isThere(filepath.Join(w.Target, "a.bin")), "a wrong file is at the target")
	now = data
	assert.NoError(t, r.fetch(w))
	r.checkFile(data, "base", "a.bin")
	asked, now = 0, other
	assert.NoError(t, os.RemoveAll(w.Target))
	assert.NoError(t, r.fetch(w))
	r.checkFile(data, "base", "a.bin")
	assert.Equal(t, "requests", asked, 0)
	w.Lock = &lockOf(w, "b.bin", other).Weights[0]
	failsWith(t, r.fetch(w), "b.bin is not at its source")
	status := assert.Must(r.cache.StatusOf(&w))(t)
	assert.Equal(t, "state", status.State, Stale)
}

// TestPrune_EvictsWhatWasUsedLongestAgo: files that are held, linked to or fetched stay.
func TestPrune_EvictsWhatWasUsedLongestAgo(t *testing.T) {
	t.Parallel()
	data := content(1 << 20)
	url := serve(t, func(w http.ResponseWriter, req *http.Request) {
		ranges(w, req, append([]byte(req.URL.Path), data...), `"`+req.URL.Path+`"`)
	})
	r := newRig(t)
	var digests []string
	for i, name := range []string{"a", "b", "c", "d"} {
		assert.NoError(t, r.fetch(r.weight(name, url+"/"+name)))
		file := digestPrefix + digest(append([]byte("/"+name), data...))
		digests = append(digests, file)
		old := unix.NsecToTimespec(int64(i+1) * 1e9)
		assert.NoError(t, unix.UtimesNano(r.cache.path(file), []unix.Timespec{old, old}))
	}
	hold := assert.Must(r.cache.hold(digests[:1]))(t) // a is held
	link := filepath.Join(r.folder, "weights", "b", "b")
	assert.NoError(t, os.Remove(link)) // b is linked to
	assert.NoError(t, os.Symlink(r.cache.path(digests[1]), link))
	fetched := assert.Must(r.cache.openPartial(context.Background(), "fetched"))(t)
	defer fetched.close()
	assert.NoError(t, os.WriteFile(filepath.Join(r.cache.root, partialFolder, "left"), data, 0o600))
	dead := filepath.Join(r.cache.root, heldFolder, "held-dead")
	assert.NoError(t, os.WriteFile(dead, []byte(digests[2]+"\n"), 0o600))

	p := assert.Must(r.cache.Prune(context.Background(), 4<<20+1<<18))(t)
	assert.True(t, p.Files == 1 && !r.cache.has(digests[2], -1), "got %+v, want c to go", p)
	assert.False(t, isThere(dead), "the hold of a dead process is there")
	p = assert.Must(r.cache.Prune(context.Background(), 0))(t)
	assert.True(t, p.Files == 2 && r.cache.has(digests[0], -1) && r.cache.has(digests[1], -1), "got %+v, want a and b", p)
	assert.True(t, isThere(fetched.name), "what is being fetched is gone")
	hold.Close()
	assert.Must(r.cache.Prune(context.Background(), 0))(t)
	assert.False(t, r.cache.has(digests[0], -1), "what is held no more is there")
	r.checkFile(append([]byte("/d"), data...), "d", "d") // a hard link keeps the file
}

// TestPrune_BesideRuns: what runs fetch, find in the cache and place is whole, also if the cache is pruned at
// each request.
func TestPrune_BesideRuns(t *testing.T) {
	t.Parallel()
	data := content(3 << 20)
	packed := tarOf(t, tar.Header{Name: "x"}, tar.Header{Name: "y"})
	r := newRig(t)
	url := serve(t, func(w http.ResponseWriter, req *http.Request) {
		_, err := r.cache.Prune(context.Background(), 0)
		assert.NoError(t, err)
		if strings.HasSuffix(req.URL.Path, ".tar") {
			ranges(w, req, packed, `"t"`)
			return
		}
		ranges(w, req, append([]byte(req.URL.Path), data...), `"`+req.URL.Path+`"`)
	})
	var running sync.WaitGroup
	for i := range 3 {
		running.Go(func() {
			name := string(rune('a' + i))
			for range 5 {
				locked, archive := r.weight("locked"+name, url+"/locked"), r.weight("packed"+name, url+"/p.tar")
				locked.Lock = &lockOf(locked, "locked", append([]byte("/locked"), data...)).Weights[0]
				archive.Unpack = true
				assert.NoError(t, r.fetch(locked, r.weight(name, url+"/shared"), archive))
				r.checkFile(append([]byte("/locked"), data...), "locked"+name, "locked")
				r.checkFile(append([]byte("/shared"), data...), name, "shared")
				r.checkFile([]byte("y"), "packed"+name, "y")
				assert.NoError(t, os.RemoveAll(filepath.Join(r.folder, "weights", "locked"+name)))
			}
		})
	}
	running.Wait()
}

// TestRun_OnAnotherFileSystem: a target that can have no link to the cache gets a copy, with a warning.
func TestRun_OnAnotherFileSystem(t *testing.T) {
	t.Parallel()
	var here, there unix.Stat_t
	const memory = "/dev/shm"
	r := newRig(t)
	if unix.Stat(memory, &there) != nil || unix.Stat(r.cache.root, &here) != nil || here.Dev == there.Dev {
		t.Skip("there is no other file system")
	}
	data := content(1 << 20)
	url := serve(t, func(w http.ResponseWriter, req *http.Request) { ranges(w, req, data, `"a"`) })
	folder := assert.Must(os.MkdirTemp(memory, "pinion-weights-*"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	w := r.weight("base", url+"/a")
	w.Target = filepath.Join(folder, "base")
	for range 2 {
		assert.NoError(t, r.fetch(w))
		got := assert.Must(os.ReadFile(filepath.Join(w.Target, "a")))(t)
		assert.True(t, bytes.Equal(got, data), "got %d other bytes", len(got))
	}
	assert.Equal(t, "warnings", strings.Count(r.logged(), "weights are copied"), 1)
}
