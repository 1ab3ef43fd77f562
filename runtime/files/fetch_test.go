package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pinion/runtime/egress"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

// newStore makes a store that the test's end closes, and then holds that nothing is left on disk.
func newStore(t *testing.T, o Options) *Store {
	t.Helper()
	o.Root = filepath.Join(t.TempDir(), "root")
	o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	s := assert.Must(New(o))(t)
	t.Cleanup(func() {
		assert.ErrorIs(t, "s.Close", s.Close(), nil)
		left := list(t, o.Root)
		assert.True(t, len(left) == 0, "left on disk: %q", left)
	})
	return s
}

// list returns everything below path but the lock file.
func list(t *testing.T, path string) []string {
	t.Helper()
	var found []string
	assert.NoError(t, filepath.WalkDir(path, func(at string, _ os.DirEntry, err error) error {
		if err == nil && at != path && filepath.Base(at) != lockName {
			found = append(found, at)
		}
		return err
	}))
	return found
}

// noFiles holds that the store has no prediction's folder.
func noFiles(t *testing.T, s *Store) {
	t.Helper()
	left := list(t, s.folder.path)
	assert.True(t, len(left) == 0, "left on disk: %q", left)
}

// prepared returns an input with the URLs as the list "x".
func prepared(t *testing.T, urls ...string) predict.Prepared {
	t.Helper()
	p := predict.Prepared{Input: []byte(`{"n":1,"x":[ `)}
	for i, u := range urls {
		if i > 0 {
			p.Input = append(p.Input, " , "...)
		}
		start := len(p.Input)
		p.Input = rawjson.AppendQuoted(p.Input, u)
		p.Files = append(p.Files, predict.File{Field: fmt.Sprintf("x/%d", i), Start: start, End: len(p.Input), URL: u})
	}
	p.Input = append(p.Input, ` ]}`...)
	return p
}

// fetched fetches the URLs and reads what came: the paths and the contents.
func fetched(t *testing.T, s *Store, urls ...string) (paths, contents []string) {
	t.Helper()
	input, cleanup, err := s.Fetch(t.Context(), "test", prepared(t, urls...))
	assert.NoError(t, err)
	defer noFiles(t, s)
	defer cleanup()
	assert.NoError(t, rawjson.Check(input), input)
	var read struct {
		N int
		X []string
	}
	if err := json.Unmarshal(input, &read); err != nil || read.N != 1 || len(read.X) != len(urls) {
		t.Fatalf("input %s: %v: got N %d, len(X) %d, want N 1 and len(X) %d", input, err, read.N, len(read.X), len(urls))
	}
	for _, path := range read.X {
		content, err := os.ReadFile(path)
		assert.TrueNow(t, err == nil && filepath.IsAbs(path), "%s: %v, want filepath.IsAbs(path) true", path, err)
		contents = append(contents, string(content))
	}
	return read.X, contents
}

// refused fetches the URLs and returns the error, of which one must come.
func refused(t *testing.T, s *Store, urls ...string) *FetchError {
	t.Helper()
	input, cleanup, err := s.Fetch(t.Context(), "test", prepared(t, urls...))
	var failed *FetchError
	assert.TrueNow(t, errors.As(err, &failed) && input == nil && cleanup != nil,
		"Fetch(%q) = %s, %v, want an error of type *FetchError, input nil and cleanup non-nil", urls, input, err)
	noFiles(t, s)
	cleanup()
	return failed
}

func TestFetch_Nothing(t *testing.T) {
	s := newStore(t, Options{})
	p := prepared(t)
	input, cleanup, err := s.Fetch(t.Context(), "id", p)
	assert.NoError(t, err)
	assert.Equal(t, "memory of the input", &input[0], &p.Input[0])
	noFiles(t, s)
	cleanup()
}

func TestFetch_Mixed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s by %s", r.URL.RequestURI(), r.UserAgent())
	}))
	defer server.Close()
	s := newStore(t, Options{UserAgent: "test/1"})
	paths, contents := fetched(t, s, "data:text/plain,one", server.URL+"/a/two.png?q=1", server.URL+"/a/two.png",
		"data:;base64,dGhyZWU=")
	want := []string{"one", "/a/two.png?q=1 by test/1", "/a/two.png by test/1", "three"}
	assert.True(t, fmt.Sprint(contents) == fmt.Sprint(want), "contents = %q, want %q", contents, want)
	for i, name := range []string{"file.txt", "two.png", "two.png", "file.txt"} {
		assert.True(t, filepath.Base(paths[i]) == name, "path %s, want %s", paths[i], name)
	}
}

// TestFetch_Places checks that only the URLs are replaced, wherever they stand and however they are
// written.
func TestFetch_Places(t *testing.T) {
	s := newStore(t, Options{})
	input := []byte(`{"a":"data:,1","b":{"c":["data:,2"]}}`)
	p := predict.Prepared{Input: input, Files: []predict.File{
		{Field: "b/c/0", Start: 25, End: 34, URL: "data:,2"}, // not in order
		{Field: "a", Start: 5, End: 14, URL: "data:,1"},
	}}
	got, cleanup, err := s.Fetch(t.Context(), "id", p)
	assert.NoError(t, err)
	defer cleanup()
	folder := list(t, s.folder.path)[0]
	want := fmt.Sprintf(`{"a":"%s/1/file.txt","b":{"c":["%s/0/file.txt"]}}`, folder, folder)
	assert.Equal(t, fmt.Sprintf("input = %s", got), string(got), want)
	assert.Equal(t, "Fetch's argument", string(input), `{"a":"data:,1","b":{"c":["data:,2"]}}`)
}

// TestFetch_Folder checks that hostile ids stay in the store's folder, that folders are private and that
// cleanup may be called again and again.
func TestFetch_Folder(t *testing.T) {
	s := newStore(t, Options{})
	for _, id := range []string{"", "plain-1", "..", "../../etc", "a b\\c*?", strings.Repeat("é", 256), "same", "same"} {
		_, cleanup, err := s.Fetch(t.Context(), id, prepared(t, "data:,x"))
		if err != nil {
			t.Errorf("id %q: got %v, want no error", id, err)
			continue
		}
		defer cleanup()
	}
	entries, err := os.ReadDir(s.folder.path)
	if err != nil || len(entries) != 9 { // with the lock file
		t.Fatalf("%v, %v, want 9", entries, err)
	}
	for _, path := range list(t, s.folder.path) {
		info := assert.Must(os.Lstat(path))(t)
		assert.Equal(t, path+": info.Mode().Perm()&0o077", info.Mode().Perm()&0o077, 0)
	}
	_, cleanup, err := s.Fetch(t.Context(), "again", prepared(t, "data:,x"))
	assert.NoError(t, err)
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(cleanup)
	}
	callers.Wait()
	cleanup()
}

// TestFetch_CleanupOfModelsFiles removes what a model left beside its inputs.
func TestFetch_CleanupOfModelsFiles(t *testing.T) {
	s := newStore(t, Options{})
	_, cleanup, err := s.Fetch(t.Context(), "id", prepared(t, "data:,x"))
	assert.NoError(t, err)
	own := filepath.Join(list(t, s.folder.path)[0], "own")
	assert.NoError(t, os.MkdirAll(filepath.Join(own, "deep"), 0o700))
	assert.NoError(t, os.WriteFile(filepath.Join(own, "deep", "file"), nil, 0))
	for _, path := range []string{filepath.Join(own, "deep"), own} {
		assert.NoError(t, os.Chmod(path, 0))
	}
	cleanup()
	noFiles(t, s)
}

func TestFetch_TooMany(t *testing.T) {
	s := newStore(t, Options{MaxFiles: 2})
	_, cleanup, err := s.Fetch(t.Context(), "id", prepared(t, "data:,1", "data:,2", "data:,3"))
	assert.True(t, errors.Is(err, ErrTooMany) && strings.Contains(err.Error(), ": 3, and at most 2 are allowed"),
		`Fetch: %v, want error ErrTooMany and err with ": 3, and at most 2 are allowed"`, err)
	cleanup()
	noFiles(t, s)
	fetched(t, s, "data:,1", "data:,2")
	fetched(t, newStore(t, Options{MaxFiles: -1}), "data:,1", "data:,2", "data:,3")
}

// TestFetch_Parallel checks that as many downloads as are allowed run at once, and no more.
func TestFetch_Parallel(t *testing.T) {
	const parallel, files = 4, 12
	var mu sync.Mutex
	now, most, started := 0, 0, 0
	full := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now++
		started++
		most = max(most, now)
		if started == parallel {
			close(full)
		}
		mu.Unlock()
		select {
		case <-full: // the first ones meet here
		case <-r.Context().Done():
		}
		mu.Lock()
		now--
		mu.Unlock()
		fmt.Fprint(w, r.URL.Path)
	}))
	defer server.Close()
	s := newStore(t, Options{Parallel: parallel})
	var urls []string
	for i := range files {
		urls = append(urls, fmt.Sprintf("%s/%d", server.URL, i))
	}
	_, contents := fetched(t, s, urls...)
	for i, content := range contents {
		assert.Equal(t, fmt.Sprintf("file %d", i), content, fmt.Sprintf("/%d", i))
	}
	assert.Equal(t, "most", most, parallel)
}

// blocker serves "/missing" with 404 once "/block" is being served, which never ends by itself.
func blocker(t *testing.T) (server *httptest.Server, blocked chan struct{}) {
	blocked = make(chan struct{})
	var once sync.Once
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/block" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			once.Do(func() { close(blocked) })
			<-r.Context().Done()
			return
		}
		<-blocked
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server, blocked
}

func TestFetch_FirstFailureEndsRest(t *testing.T) {
	server, _ := blocker(t)
	err := refused(t, newStore(t, Options{}), server.URL+"/block", server.URL+"/missing", server.URL+"/block")
	if err.Field != "x/1" || err.Error() != `cannot fetch `+server.URL+
		`/missing for input "x/1": the server answered 404 Not Found` {
		t.Errorf("got %q of field %q, want field x/1, the input, the URL and the status", err, err.Field)
	}
	var status *egress.StatusError
	assert.True(t, errors.As(err, &status), "%T, want an error of type *egress.StatusError", err.Cause)
}

func TestFetch_Canceled(t *testing.T) {
	server, blocked := blocker(t)
	s := newStore(t, Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the client left")
	go func() {
		<-blocked
		cancel(reason)
	}()
	_, cleanup, err := s.Fetch(ctx, "id", prepared(t, server.URL+"/block"))
	assert.ErrorIs(t, "Fetch", err, reason)
	noFiles(t, s)
	cleanup()
}

func TestFetch_Close(t *testing.T) {
	server, blocked := blocker(t)
	s := newStore(t, Options{})
	ended := make(chan error)
	go func() {
		_, _, err := s.Fetch(context.Background(), "id", prepared(t, server.URL+"/block"))
		ended <- err
	}()
	_, cleanup, err := s.Fetch(t.Context(), "fetched", prepared(t, "data:,x"))
	assert.NoError(t, err)
	<-blocked
	assert.ErrorIs(t, "s.Close", s.Close(), nil)
	assert.ErrorIs(t, "Fetch", <-ended, ErrClosed)
	_, err = os.Stat(s.folder.path)
	assert.ErrorIs(t, "Stat", err, os.ErrNotExist)
	cleanup() // after the store: nothing to do, no complaint
	_, _, err = s.Fetch(t.Context(), "id", prepared(t, "data:,x"))
	assert.ErrorIs(t, "Fetch after Close", err, ErrClosed)
	err = s.Close()
	assert.True(t, err == nil, "second Close: got %v, want no error", err)
}
