package weights

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// TestRun_FetchesInParts: many requests at once bring a file, which a second run takes from the cache.
func TestRun_FetchesInParts(t *testing.T) {
	t.Parallel()
	data := content(40 << 20)
	var bytes, now atomic.Int64
	var most atomic.Int64
	several := make(chan struct{})
	open := sync.OnceFunc(func() { close(several) })
	url := serve(t, func(w http.ResponseWriter, req *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		most.Store(max(n, most.Load()))
		if n == parallel {
			open()
		}
		if req.Header.Get("Range") != "bytes=0-0" {
			select {
			case <-several: // a client that asked one by one would hang
			case <-req.Context().Done():
			}
		}
		ranges(countingWriter{w, &bytes}, req, data, `"a"`)
	})
	r := newRig(t)
	w := r.weight("base", url+"/big.bin?signature=secret")
	assert.NoError(t, r.fetch(w))
	r.checkFile(data, "base", "big.bin")
	assert.True(t, most.Load() <= parallel, "%d requests at once, want %d at most", most.Load(), parallel)
	came := bytes.Load()
	assert.True(t, came < int64(len(data))+1000, "%d bytes came, want %d", came, len(data))
	assert.NoError(t, r.fetch(w))
	assert.True(t, bytes.Load() < came+10, "%d bytes more, want one", bytes.Load()-came)
	// The source cannot be asked any more.
	gone := r.weight("base", strings.Replace(url, "127.0.0.1", "127.0.0.2", 1)+"/big.bin?signature=secret")
	err := r.fetch(gone)
	assert.True(t, err != nil && !strings.Contains(err.Error(), "secret"), "got %v, want an error without the query", err)
	status := assert.Must(r.cache.StatusOf(&w))(t)
	assert.Equal(t, "state", status.State, Ready)
	ready := assert.Must(os.ReadFile(filepath.Join(w.Target, ".cog", "ready")))(t)
	want := SetDigest([]File{{Path: "big.bin", Digest: digestPrefix + digest(data)}})
	assert.Equal(t, "marker", strings.TrimSpace(string(ready)), want)
}

type countingWriter struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (w countingWriter) Write(p []byte) (int, error) {
	w.bytes.Add(int64(len(p)))
	return w.ResponseWriter.Write(p)
}

// TestRun_SourceIsAway: what a source had is served from the cache, with a warning.
func TestRun_SourceIsAway(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	data := content(100)
	url := serve(t, func(w http.ResponseWriter, req *http.Request) {
		if away.Load() {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		ranges(w, req, data, `"a"`)
	})
	r := newRig(t)
	w := r.weight("base", url+"/x")
	assert.NoError(t, r.fetch(w))
	away.Store(true)
	assert.NoError(t, os.RemoveAll(w.Target))
	assert.NoError(t, r.fetch(w))
	r.checkFile(data, "base", "x")
	assert.Contains(t, "log", r.logged(), "cannot be asked")
	assert.NoError(t, os.RemoveAll(filepath.Join(r.cache.root, filesFolder)))
	failsWith(t, r.fetch(w), "404 Not Found")
}

// TestRun_RefusesWhatIsWrong: no source brings anything else to a target than a whole file with the right digest.
func TestRun_RefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	data, other := content(3<<20), content(3<<20)
	other[0]++
	cut := func(w http.ResponseWriter, req *http.Request) {
		conn, out, _ := w.(http.Hijacker).Hijack()
		fmt.Fprintf(out, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(data), data[:1000])
		_ = out.Flush()
		_ = conn.Close()
	}
	var asked atomic.Int64
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"wrong digest": {
			func(w http.ResponseWriter, req *http.Request) { ranges(w, req, other, `"a"`) },
			"wrong SHA-256: expected sha256:" + digest(data) + ", got sha256:" + digest(other),
		},
		"cut body":  {cut, "unexpected EOF"},
		"no length": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data[:1000]); panic(http.ErrAbortHandler) }, "EOF"},
		"other bytes than asked for": {func(w http.ResponseWriter, req *http.Request) {
			if asked.Add(1) > 1 {
				req.Header.Set("Range", "bytes=5-100")
			}
			ranges(w, req, data, `"a"`)
		}, "instead of"},
		"another size": {func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("ETag", `"a"`)
			w.Header().Set("Content-Range", "bytes 0-0/"+strconv.FormatInt(time.Now().UnixNano()%1e6+5e6, 10))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write([]byte{1})
		}, "changed while it was fetched"},
		"a version that changes": {func(w http.ResponseWriter, req *http.Request) {
			ranges(w, req, data, strconv.Quote(strconv.FormatInt(time.Now().UnixNano(), 10)))
		}, "changed while it was fetched"},
		"a range of nonsense": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes x-y/z")
			w.WriteHeader(http.StatusPartialContent)
		}, "wrong one"},
		"encoded": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(data)
		}, "encoded"},
		"a redirect that never ends": {func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, req.URL.Path, http.StatusFound)
		}, "redirect"},
		"a redirect to a file": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		}, "redirect"},
		"not there": {http.NotFound, "404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			w := r.weight("base", serve(t, test.handler)+"/x.bin")
			w.SHA256 = digest(data)
			err := r.fetch(w)
			failsWith(t, err, test.want)
			of, is := errors.AsType[*Error](err)
			assert.True(t, is && of.Line == 3 && of.Name == "base", "got %#v, want the line of cog.yaml", err)
			assert.False(t, isThere(w.Target), "something is at the target")
			var there []string
			_ = filepath.WalkDir(filepath.Join(r.cache.root, filesFolder), func(name string, d os.DirEntry, _ error) error {
				if !d.IsDir() {
					there = append(there, name)
				}
				return nil
			})
			assert.True(t, len(there) == 0, "the cache has %q", there)
		})
	}
}

// TestRun_SurvivesBreaks: a connection that breaks again and again only costs what was on its way.
func TestRun_SurvivesBreaks(t *testing.T) {
	t.Parallel()
	data := content(5 << 20)
	for name, parts := range map[string]bool{"parts": true, "one stream": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			var seen sync.Map
			url := serve(t, func(w http.ResponseWriter, req *http.Request) {
				n := requests.Add(1)
				if _, again := seen.LoadOrStore(req.Header.Get("Range"), true); !again {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				if parts {
					ranges(&breaking{ResponseWriter: w, left: 300 << 10}, req, data, `"a"`)
					return
				}
				w.Header().Set("Content-Length", strconv.Itoa(len(data)))
				if n < 5 {
					_, _ = w.Write(data[:1<<20])
					panic(http.ErrAbortHandler)
				}
				_, _ = w.Write(data)
			})
			r := newRig(t)
			assert.NoError(t, r.fetch(r.weight("base", url+"/x")))
			r.checkFile(data, "base", "x")
		})
	}
}

// breaking is an answer whose connection breaks after some bytes.
type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	if len(p) > b.left {
		_, _ = b.ResponseWriter.Write(p[:b.left])
		panic(http.ErrAbortHandler)
	}
	b.left -= len(p)
	return b.ResponseWriter.Write(p)
}

// TestRun_GoesOnAfterItWasEnded: what a run has fetched is not fetched again by the next one.
func TestRun_GoesOnAfterItWasEnded(t *testing.T) {
	t.Parallel()
	data := content(32 << 20)
	var sent atomic.Int64
	var halted atomic.Bool
	halted.Store(true)
	url := serve(t, func(w http.ResponseWriter, req *http.Request) {
		from, _, _ := strings.Cut(strings.TrimPrefix(req.Header.Get("Range"), "bytes="), "-")
		if at, _ := strconv.Atoi(from); halted.Load() && at >= len(data)/2 {
			<-req.Context().Done()
			return
		}
		ranges(countingWriter{w, &sent}, req, data, `"a"`)
	})
	r := newRig(t)
	w := r.weight("base", url+"/x")
	run := Start(r.options(), []Weight{w}, func(*Weight, error) { t.Error("reported, want nothing of a run that was ended") })
	assert.Eventually(t, "half of it", func() bool { return run.Progress().Done >= int64(len(data)/2) })
	run.Close()
	halted.Store(false)
	before := sent.Load()
	assert.NoError(t, r.fetch(w))
	r.checkFile(data, "base", "x")
	more := sent.Load() - before
	assert.True(t, more < int64(len(data))-4<<20, "the second run fetched %d of %d bytes", more, len(data))
}

// TestRun_OfTwoFetchesOnce: two runs that want one file fetch it once, by its digest or by its version.
func TestRun_OfTwoFetchesOnce(t *testing.T) {
	t.Parallel()
	data := content(8 << 20)
	for name, sum := range map[string]string{"known": digest(data), "unknown": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			url := serve(t, func(w http.ResponseWriter, req *http.Request) {
				ranges(countingWriter{w, &sent}, req, data, `"a"`)
			})
			r := newRig(t)
			var runs sync.WaitGroup
			for i := range 4 {
				w := r.weight("w"+strconv.Itoa(i), url+"/x")
				w.SHA256 = sum
				runs.Go(func() { assert.NoError(t, r.fetch(w)) })
			}
			runs.Wait()
			for i := range 4 {
				r.checkFile(data, "w"+strconv.Itoa(i), "x")
			}
			assert.True(t, sent.Load() < int64(len(data))+100, "%d bytes were sent, want %d", sent.Load(), len(data))
		})
	}
}

// TestPartial_StateOfAnotherFile: a state that a process has left beside no file, or a shorter one, says nothing.
func TestPartial_StateOfAnotherFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := assert.Must(r.cache.openPartial(t.Context(), "key"))(t)
	defer p.close()
	assert.NoError(t, p.begin(minChunk, minChunk, false))
	p.finish(0, minChunk, minChunk)
	assert.NoError(t, p.begin(minChunk, minChunk, false))
	assert.True(t, p.done[0], "what is there is not known")
	assert.NoError(t, p.f.Truncate(0)) // as a new file
	assert.NoError(t, p.begin(minChunk, minChunk, false))
	assert.False(t, p.done[0], "what is not there counts as done")
}

// TestRun_LocalFolder: a folder is copied by its patterns; links are refused.
func TestRun_LocalFolder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, text := range map[string]string{"a.bin": "a", "b/c.bin": "c", "b/readme.md": "r"} {
		at := filepath.Join(r.folder, "files", name)
		assert.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		assert.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	w := r.weight("base", "file://files")
	w.Sources[0].Include = []string{"*.bin"}
	assert.NoError(t, r.fetch(w))
	r.checkFile([]byte("a"), "base", "a.bin")
	r.checkFile([]byte("c"), "base", "b/c.bin")
	assert.False(t, isThere(filepath.Join(w.Target, "b/readme.md")), "an excluded file is there")

	// A file that is gone from the source goes from the target, and a changed one changes.
	assert.NoError(t, os.WriteFile(filepath.Join(r.folder, "files", "a.bin"), []byte("newer"), 0o600))
	assert.NoError(t, os.Remove(filepath.Join(r.folder, "files", "b/c.bin")))
	assert.NoError(t, os.WriteFile(filepath.Join(w.Target, "own.txt"), nil, 0o600))
	assert.NoError(t, r.fetch(w))
	r.checkFile([]byte("newer"), "base", "a.bin")
	assert.False(t, isThere(filepath.Join(w.Target, "b/c.bin")), "a file that the source has no more is there")
	assert.True(t, isThere(filepath.Join(w.Target, "own.txt")), "a file of the operator is gone")

	assert.NoError(t, os.Symlink("/etc/passwd", filepath.Join(r.folder, "files", "link.bin")))
	failsWith(t, r.fetch(w), "is no file and no folder")
	assert.NoError(t, os.Remove(filepath.Join(r.folder, "files", "link.bin")))
	assert.NoError(t, unix.Mkfifo(filepath.Join(r.folder, "files", "pipe.bin"), 0o600))
	failsWith(t, r.fetch(w), "is no file and no folder")
	w.Sources[0].Include = []string{"*.none"}
	assert.NoError(t, os.Remove(filepath.Join(r.folder, "files", "pipe.bin")))
	failsWith(t, r.fetch(w), "include and exclude leave none")
}

// TestRun_Targets: what the operator has put at a target stays as it is; a wrong file of ours is found and fetched again.
func TestRun_Targets(t *testing.T) {
	t.Parallel()
	data := content(1000)
	url := serve(t, func(w http.ResponseWriter, req *http.Request) { ranges(w, req, data, `"a"`) })
	r := newRig(t)

	provided := r.weight("provided", "http://127.0.0.1:1/never-asked")
	assert.NoError(t, os.MkdirAll(provided.Target, 0o755))
	assert.NoError(t, os.WriteFile(filepath.Join(provided.Target, "own"), []byte("own"), 0o600))
	assert.NoError(t, r.fetch(provided))
	r.checkFile([]byte("own"), "provided", "own")

	file := r.weight("file.bin", url+"/file.bin")
	file.IsFile, file.SHA256 = true, digest(data)
	assert.NoError(t, r.fetch(file))
	r.checkFile(data, "file.bin")
	checked, wrong := r.cache.Verify(&file)
	assert.True(t, checked == 1 && len(wrong) == 0, "got %d %v", checked, wrong)

	assert.NoError(t, os.Chmod(file.Target, 0o600))
	assert.NoError(t, os.WriteFile(file.Target, make([]byte, len(data)), 0o600))
	_, wrong = r.cache.Verify(&file)
	assert.True(t, len(wrong) == 1 && strings.Contains(wrong[0].Error(), "wrong SHA-256"), "got %v", wrong)
	assert.NoError(t, r.fetch(file))
	r.checkFile(data, "file.bin")

	// One that was there before is checked, and not replaced.
	assert.NoError(t, os.RemoveAll(filepath.Join(r.cache.root, placedFolder)))
	assert.NoError(t, os.Mkdir(filepath.Join(r.cache.root, placedFolder), 0o755))
	assert.NoError(t, os.Remove(file.Target))
	assert.NoError(t, os.WriteFile(file.Target, []byte("other"), 0o600))
	failsWith(t, r.fetch(file), "wrong SHA-256")
	r.checkFile([]byte("other"), "file.bin")
}

// TestRun_OfTwoSourcesTheLaterWins: and that is logged.
func TestRun_OfTwoSourcesTheLaterWins(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, req *http.Request) { ranges(w, req, []byte(req.URL.RawQuery), `"a"`) })
	r := newRig(t)
	assert.NoError(t, r.fetch(r.weight("base", url+"/x?one", url+"/y?two", url+"/x?three")))
	r.checkFile([]byte("three"), "base", "x")
	r.checkFile([]byte("two"), "base", "y")
	assert.Contains(t, "log", r.logged(), "the later of two sources")
}

// TestRun_EndsInTime: a source that sends nothing is given up.
func TestRun_EndsInTime(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
	})
	r := newRig(t)
	o := r.options()
	o.Timeout = 100 * time.Millisecond
	run := Start(o, []Weight{r.weight("base", url+"/x")}, func(*Weight, error) {})
	defer run.Close()
	<-run.Done()
	failsWith(t, run.Err(), "not there within 100ms")
}
