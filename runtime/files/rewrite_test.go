package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

// newUploads makes the uploads of a prediction. The test's end closes them and holds that their folder is gone.
func newUploads(t *testing.T, s *Store, prefix string) *Uploads {
	t.Helper()
	u := assert.Must(s.NewUploads("../id", Destination{Prefix: prefix}))(t)
	t.Cleanup(func() {
		u.Close()
		u.Close()
		noFiles(t, s)
	})
	return u
}

// leave puts a file where the worker would, and returns its mark.
func leave(t *testing.T, u *Uploads, number int, name, content string) string {
	t.Helper()
	folder := filepath.Join(u.Folder(), fmt.Sprint(number))
	assert.NoError(t, os.MkdirAll(folder, 0o700))
	assert.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	return string(rawjson.AppendQuoted(nil, fmt.Sprintf("pinion-file:%s:%d/%s", u.Token(), number, name)))
}

func TestRewrite_Resolve(t *testing.T) {
	target := newStorage(t, nil)
	s := newStore(t, Options{})
	u := newUploads(t, s, target.URL+"/p/")
	assert.True(t, len(u.Token()) == 32 && strings.Trim(u.Token(), "0123456789abcdef") == "" && filepath.IsAbs(u.Folder()),
		"token %s, folder %s, want len(Token) 32 bytes, Trim empty and filepath.IsAbs(u.Folder()) true", u.Token(), u.Folder())
	a, b, c, d := leave(t, u, 0, "a.txt", "1"), leave(t, u, 1, `b"\ é.txt`, "2"), leave(t, u, 2, "a.txt", "3"),
		leave(t, u, 3, "d", "4")
	other := `"pinion-file:` + strings.Repeat("0", 32) + `:0/a.txt"`
	inside := string(rawjson.AppendQuoted(nil, "say "+a)) // text that quotes a mark
	chunk := a + `,[1,{"x":` + b + ` ,"y":[[` + c + `]],` + a + ` : 2, "z":` + other + `}, ` + inside + `,"\\",` + d + `]`
	chunk = "[" + chunk + "]"
	assert.NoError(t, rawjson.Check([]byte(chunk)))
	got, err := u.Resolve(t.Context(), []byte(chunk))
	assert.NoError(t, err)
	at := func(name string) string { return `"` + target.URL + "/p/" + name + `"` }
	want := "[" + at("a.txt") + `,[1,{"x":` + at("b%22%5C%20%C3%A9.txt") + ` ,"y":[[` + at("a-1.txt") + `]],` + a +
		` : 2, "z":` + other + `}, ` + inside + `,"\\",` + at("d") + `]]`
	assert.Equal(t, "text", string(got), want)
	contents := map[string]bool{}
	for _, p := range target.received() {
		contents[p.Body] = true
	}
	assert.Equal(t, fmt.Sprintf("uploaded %v", contents), len(contents), 4)
	left := list(t, u.Folder())
	assert.True(t, len(left) == 0, "left after the uploads: %q", left)
	single := leave(t, u, 4, "é.txt", "5")
	got, err = u.Resolve(t.Context(), []byte(single))
	assert.True(t, err == nil && string(got) == at("%C3%A9.txt"), "Resolve(%s) = %s, %v, want %q", single, got, err, at("%C3%A9.txt"))
}

// TestChunk_FilesOfOneNameGoOneAfterAnother, in the order of the chunks, also where a later chunk resolves first.
func TestChunk_FilesOfOneNameGoOneAfterAnother(t *testing.T) {
	const chunks = 6
	var mu sync.Mutex
	var got []string
	second := make(chan struct{}, chunks)
	now := 0
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		if now++; now > 1 {
			t.Errorf("got %d uploads to %s at once, want 1", now, r.URL.Path)
			second <- struct{}{}
		}
		mu.Unlock()
		select { // a second one has time to come
		case <-second:
		case <-time.After(10 * time.Millisecond):
		}
		mu.Lock()
		now--
		got = append(got, r.URL.Path+" "+string(body))
		mu.Unlock()
	}))
	defer server.Close()
	u := newUploads(t, newStore(t, Options{}), server.URL)
	var list []Chunk
	var want []string
	for i := range chunks {
		list = append(list, u.Chunk([]byte(leave(t, u, i, "step.png", fmt.Sprint(i)))))
		want = append(want, fmt.Sprint("/step.png ", i))
	}
	var callers sync.WaitGroup
	for _, c := range slices.Backward(list) {
		callers.Go(func() {
			if text, err := c.Resolve(t.Context()); err != nil || string(text) != `"`+server.URL+`/step.png"` {
				t.Errorf("Resolve = %s, %v, want %q", text, err, `"`+server.URL+`/step.png"`)
			}
		})
	}
	callers.Wait()
	assert.EqualSlices(t, "the uploads", got, want)
	assert.Equal(t, "names still kept", len(u.latest), 0)
}

// TestChunk_FailureLetsLaterFilesFail: they do not wait for a turn that never comes.
func TestChunk_FailureLetsLaterFilesFail(t *testing.T) {
	target := newStorage(t, map[string]http.HandlerFunc{
		"/bad": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
	})
	u := newUploads(t, newStore(t, Options{Parallel: 1}), target.URL)
	first := u.Chunk([]byte("[" + leave(t, u, 0, "bad", "x") + "," + leave(t, u, 1, "step.png", "1") + "]"))
	next := u.Chunk([]byte(leave(t, u, 2, "step.png", "2")))
	_, err := first.Resolve(t.Context())
	assert.True(t, err != nil, "got no error of the first chunk, want one")
	_, err = next.Resolve(t.Context())
	assert.True(t, err == nil, "got %v of the next chunk, want none", err)
}

func TestRewrite_DistinctNames(t *testing.T) {
	for names, want := range map[string]string{
		"a.png":                       "a.png",
		"a.png b.png":                 "a.png b.png",
		"a.png a.png a.png":           "a.png a-1.png a-2.png",
		"a.png a-1.png a.png a.png":   "a.png a-1.png a-2.png a-3.png",
		"a.png a.png a-1.png a-1.png": "a.png a-2.png a-1.png a-1-1.png",
		"x x .y .y a.tar.gz a.tar.gz": "x x-1 .y .y-1 a.tar.gz a.tar-1.gz",
		"é é é":                       "é é-1 é-2",
		"A.png a.png":                 "A.png a.png",
	} {
		var marks []mark
		for i, name := range strings.Fields(names) {
			marks = append(marks, mark{file: fmt.Sprint(i, "/", name)})
		}
		assert.Equal(t, names, strings.Join(distinctNames(marks), " "), want)
	}
}

// TestRewrite_ResolveNothing checks that a chunk without marks is passed on as it is, without uploads too.
func TestRewrite_ResolveNothing(t *testing.T) {
	s := newStore(t, Options{})
	off, err := s.NewUploads("id", Destination{})
	assert.True(t, off == nil && err == nil && off.Folder() == "" && off.Token() == "",
		"NewUploads without a prefix: %v, %v, want off nil, Folder empty and Token empty", off, err)
	off.Close()
	chunk := []byte(`{"a":"pinion-file:x","b":["pinion-file:` + strings.Repeat("0", 32) + `:0/x"]}`)
	for _, u := range []*Uploads{off, newUploads(t, s, "http://h/")} {
		got := assert.Must(u.Resolve(t.Context(), chunk))(t)
		assert.Equal(t, "memory of the text", &got[0], &chunk[0])
		assert.Equal(t, "allocations", testing.AllocsPerRun(100, func() { _, _ = u.Resolve(context.Background(), chunk) }), 0)
	}
}

// TestRewrite_ResolveForged checks that no mark leads out of the folder.
func TestRewrite_ResolveForged(t *testing.T) {
	target := newStorage(t, nil)
	s := newStore(t, Options{})
	u := newUploads(t, s, target.URL)
	secret := writeFile(t, "secret", "secret")
	leave(t, u, 0, "x", "x")
	for name, to := range map[string]string{"link": secret, "up": "../../../x", "dir": "."} {
		assert.NoError(t, os.Symlink(to, filepath.Join(u.Folder(), "0", name)))
	}
	assert.NoError(t, os.Symlink(filepath.Dir(secret), filepath.Join(u.Folder(), "1")))
	for _, file := range []string{
		"", "0", "0/", "/x", "0/.", "0/..", "0/../0/x", "0//x", "./x", "../x", "-0/x", "+0/x", "0x0/x", "99999999999/x",
		"0/x/", "0/link", "0/up", "0/dir", "1/secret", "2/x", "0/X", "0/x\x00", secret,
	} {
		mark := rawjson.AppendQuoted(nil, "pinion-file:"+u.Token()+":"+file)
		got, err := u.Resolve(t.Context(), mark)
		var failed *UploadError
		if !errors.As(err, &failed) || !errors.Is(err, ErrNoFile) || got != nil || strings.Contains(err.Error(), u.Folder()) {
			t.Errorf("%q: %s, %v, want an error of type *UploadError and ErrNoFile, nil and err without %q", file, got, err,
				u.Folder())
		}
	}
	puts := target.received()
	assert.True(t, len(puts) == 0, "uploaded: %v, want none", puts)
}

// TestRewrite_ResolveFails checks that one failure ends the rest and is the error.
func TestRewrite_ResolveFails(t *testing.T) {
	entered := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(entered)
			<-r.Context().Done()
			return
		}
		<-entered
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	u := newUploads(t, newStore(t, Options{}), server.URL)
	chunk := "[" + leave(t, u, 0, "slow", "") + "," + leave(t, u, 1, "bad", "1") + "]"
	_, err := u.Resolve(t.Context(), []byte(chunk))
	if err == nil || err.Error() != `cannot upload output file "bad" to `+server.URL+
		`: the server answered 403 Forbidden` {
		t.Error(err)
	}
}

// TestRewrite_ResolveParallel checks that as many uploads as are allowed run at once, over all chunks, and no more.
func TestRewrite_ResolveParallel(t *testing.T) {
	const parallel, files = 3, 9
	var mu sync.Mutex
	now, most, started := 0, 0, 0
	full := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now++
		started++
		most = max(most, now)
		wait := full
		if started%parallel == 0 { // they pass in groups
			close(full)
			full = make(chan struct{})
		}
		mu.Unlock()
		select {
		case <-wait:
		case <-r.Context().Done():
		}
		mu.Lock()
		now--
		mu.Unlock()
	}))
	defer server.Close()
	u := newUploads(t, newStore(t, Options{Parallel: parallel}), server.URL)
	var callers sync.WaitGroup
	for call := range 2 {
		var chunk, want [][]byte
		for i := range files {
			name := fmt.Sprintf("%d-%d", call, i)
			chunk = append(chunk, []byte(leave(t, u, call*files+i, name, "x")))
			want = append(want, fmt.Appendf(nil, `"%s/%s"`, server.URL, name))
		}
		callers.Go(func() {
			got, err := u.Resolve(t.Context(), bytes.Join(chunk, []byte(",")))
			if err != nil || !bytes.Equal(got, bytes.Join(want, []byte(","))) {
				t.Errorf("Resolve = %s, %v, want %q", got, err, bytes.Join(want, []byte(",")))
			}
		})
	}
	callers.Wait()
	assert.Equal(t, "most", most, parallel)
}

// TestRewrite_UploadsClose checks that the end of a prediction ends its uploads.
func TestRewrite_UploadsClose(t *testing.T) {
	server, asked := hang(t)
	s := newStore(t, Options{})
	u, err := s.NewUploads("id", Destination{Prefix: server.URL})
	assert.NoError(t, err)
	mark := leave(t, u, 0, "x", "x")
	ended := make(chan error)
	go func() {
		_, err := u.Resolve(context.Background(), []byte(mark))
		ended <- err
	}()
	<-asked
	u.Close()
	assert.ErrorIs(t, "error at the end", <-ended, ErrClosed)
	_, err = u.Resolve(t.Context(), []byte(mark))
	assert.ErrorIs(t, "Resolve of a closed store", err, ErrClosed)
	if _, err := s.NewUploads("id", Destination{Prefix: "ftp://secret@h"}); !errors.Is(err, ErrPrefix) ||
		strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	assert.ErrorIs(t, "s.Close", s.Close(), nil)
	_, err = s.NewUploads("id", Destination{Prefix: "http://h"})
	assert.ErrorIs(t, "NewUploads of a closed store", err, ErrClosed)
}

// FuzzMarks checks that findMarks finds exactly the strings that are marks and values, in any JSON.
func FuzzMarks(f *testing.F) {
	prefix := markOf("t")
	for _, seed := range []string{
		`"pinion-file:t:0/a"`, `["\"pinion-file:t:0/a\"","\\","pinion-file:t:1/\"b\\"]`,
		`{"pinion-file:t:0/a" : "pinion-file:t:1/b"}`, `[["pinion-file:t:"],"pinion-file:t"]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, chunk []byte) {
		if rawjson.Check(chunk) != nil {
			return
		}
		var want []mark
		walk(chunk, 0, func(start, end int) {
			// A string that spells the prefix with escapes is not ours.
			if raw := chunk[start:end]; bytes.HasPrefix(raw, prefix) {
				want = append(want, mark{start, end, strings.TrimPrefix(rawjson.Text(raw), "pinion-file:t:")})
			}
		})
		got := findMarks(chunk, prefix)
		assert.True(t, fmt.Sprint(got) == fmt.Sprint(want), "findMarks(%s) = %v, want %v", chunk, got, want)
	})
}

// walk calls found with the place of each string that is a value, by package rawjson.
func walk(chunk []byte, at int, found func(start, end int)) {
	switch rawjson.KindOf(chunk) {
	case rawjson.KindString:
		trimmed := bytes.TrimRight(chunk, " \t\r\n")
		lead := len(trimmed) - len(bytes.TrimLeft(trimmed, " \t\r\n"))
		found(at+lead, at+len(trimmed))
	case rawjson.KindArray:
		items := rawjson.Array(chunk)
		for {
			value, ok := items.Next()
			if !ok {
				return
			}
			walk(value, at+items.Offset(), found)
		}
	case rawjson.KindObject:
		members := rawjson.Object(chunk)
		for {
			_, value, ok := members.Next()
			if !ok {
				return
			}
			walk(value, at+members.Offset(), found)
		}
	}
}
