package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pinion/runtime/egress"
	"pinion/runtime/trace"
	"pinion/tests/assert"
)

// put is one request that a storage got.
type put struct {
	Method, URI, Host string
	Header            http.Header
	Length            int64
	Body              string
}

// storage is a server that keeps what is put to it and answers by the path of the request; 200 where it has no answer.
type storage struct {
	*httptest.Server
	mu   sync.Mutex
	puts []put
}

func newStorage(t *testing.T, answers map[string]http.HandlerFunc) *storage {
	t.Helper()
	s := &storage{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := answers[r.URL.Path]
		if r.Header.Get("Expect") != "" && answer != nil { // which looks at no body
			answer(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.puts = append(s.puts, put{r.Method, r.RequestURI, r.Host, r.Header, r.ContentLength, string(body)})
		s.mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// received returns what was put, and forgets it.
func (s *storage) received() []put {
	s.mu.Lock()
	defer s.mu.Unlock()
	puts := s.puts
	s.puts = nil
	return puts
}

// instant makes the waits of s take no time, and tells them.
func instant(s *Store) *[]time.Duration {
	var mu sync.Mutex
	var slept []time.Duration
	s.backoff.Random = func() float64 { return 0 }
	s.sleep = func(_ context.Context, d time.Duration, _ <-chan struct{}) {
		mu.Lock()
		slept = append(slept, d)
		mu.Unlock()
	}
	return &slept
}

func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	assert.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// Upload uploads the file at path.
func (s *Store) Upload(ctx context.Context, to Destination, path string) (string, error) {
	return s.upload(ctx, to, filepath.Base(path), func() (*os.File, error) {
		return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe must not block
	})
}

func TestUpload_Succeeds(t *testing.T) {
	target := newStorage(t, nil)
	s := newStore(t, Options{UserAgent: "test/1"})
	big := strings.Repeat("0123456789", 300_000)
	for _, test := range []struct{ name, content, kind, uri string }{
		{"out.png", "x", "image/png", "/b/out.png"},
		{"OUT.JPEG", "", "image/jpeg", "/b/OUT.JPEG"},
		{"no extension", "\x89PNG\r\n\x1a\n", "image/png", "/b/no%20extension"},
		{"text", "hello", "text/plain; charset=utf-8", "/b/text"},
		{"x.unheard-of", "\x00\x01", "application/octet-stream", "/b/x.unheard-of"},
		{"a?b#c%2F d;é.txt", "y", "text/plain", "/b/a%3Fb%23c%252F%20d%3B%C3%A9.txt"},
		{"big.bin", big, "application/octet-stream", "/b/big.bin"},
	} {
		found := assert.Must(s.Upload(t.Context(),
			Destination{
				Prefix:      target.URL + "/b",
				Propagation: trace.Propagation{TraceParent: "00-1-2-01", TraceState: "bad\nstate"}, Prediction: "an id",
			},
			writeFile(t, test.name, test.content)))(t)
		assert.Equal(t, test.name+": found", found, target.URL+test.uri)
		puts := target.received()
		assert.EqualNow(t, test.name+": requests", len(puts), 1)
		got := puts[0]
		if asked := got.Header.Get("Expect") == "100-continue"; asked != (test.name == "big.bin") {
			t.Errorf("%s: asked before it was sent: %v, want %t", test.name, asked, test.name == "big.bin")
		}
		assert.Equal(t, test.name+": got.Method", got.Method, http.MethodPut)
		assert.Equal(t, test.name+": got.URI", got.URI, test.uri)
		assert.Equal(t, test.name+": got.Length", got.Length, int64(len(test.content)))
		assert.Equal(t, test.name+": got.Body", got.Body, test.content)
		for name, want := range map[string]string{
			"Content-Type": test.kind, "User-Agent": "test/1",
			"Traceparent": "00-1-2-01", "Tracestate": "", "X-Prediction-Id": "an id",
		} {
			assert.Equal(t, fmt.Sprintf("%s: %s", test.name, name), got.Header.Get(name), want)
		}
	}
}

func TestUpload_FileURL(t *testing.T) {
	for prefix, want := range map[string]string{
		"http://h":                          "http://h/n%20m",
		"http://h/":                         "http://h/n%20m",
		"https://h/a/b":                     "https://h/a/b/n%20m",
		"https://h/a/b/":                    "https://h/a/b/n%20m",
		"https://h/a//":                     "https://h/a//n%20m",
		"https://h/a%2Fb/../c":              "https://h/a%2Fb/../c/n%20m",
		"https://u:p@h/a?sig=1%2F2&x=#frag": "https://u:p@h/a/n%20m?sig=1%2F2&x=",
		"":                                  "", "h/a": "", "ftp://h/a": "", "file:///a": "", "http://": "",
		"http://[::1": "", "data:,x": "", "http://h:0/": "", "http://h:65536/": "", "http://:80/": "",
		"http://h:": "http://h:/n%20m", "http://h:65535": "http://h:65535/n%20m",
	} {
		u, err := fileURL(prefix, "n m")
		switch {
		case want == "":
			assert.ErrorIs(t, "prefix "+prefix, err, ErrPrefix)
		case err != nil || u.String() != want:
			t.Errorf("%s: %v, %v, want %s", prefix, u, err, want)
		}
	}
}

// to redirects, or names the file, with that status.
func to(status int, location string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(status)
	}
}

// TestUpload_FoundAt holds which URL an output gets.
func TestUpload_FoundAt(t *testing.T) {
	for _, test := range []struct {
		status         int
		location, want string // BASE is the server
		puts           string
	}{
		{200, "", "BASE/p/f.txt", "/p/f.txt?q=1"},
		{204, "", "BASE/p/f.txt", "/p/f.txt?q=1"},
		{201, "https://me:secret@cdn.example/f?token=1#x", "https://cdn.example/f", "/p/f.txt?q=1"},
		{200, "/files/1?a=b", "BASE/files/1", "/p/f.txt?q=1"},
		{200, "s3://bucket/f", "BASE/p/f.txt", "/p/f.txt?q=1"}, // no http or https URL, as the next ones
		{200, "http://[::1", "BASE/p/f.txt", "/p/f.txt?q=1"},
		{201, "javascript:alert(1)//", "BASE/p/f.txt", "/p/f.txt?q=1"},
		{201, "data:text/html,x", "BASE/p/f.txt", "/p/f.txt?q=1"},
		{201, "http:relative", "BASE/p/f.txt", "/p/f.txt?q=1"},
		{201, "https:///f", "BASE/p/f.txt", "/p/f.txt?q=1"},
		{303, "javascript:alert(1)//", "BASE/p/f.txt", "/p/f.txt?q=1"},
		{201, "/" + strings.Repeat("x", maxLocation), "BASE/p/f.txt", "/p/f.txt?q=1"},
		{303, "/files/1", "BASE/files/1", "/p/f.txt?q=1"},
		{301, "/there?secret=1#x", "BASE/there", "/p/f.txt?q=1 /there?secret=1"},
		{302, "/there", "BASE/there", "/p/f.txt?q=1 /there"},
		{307, "/there", "BASE/there", "/p/f.txt?q=1 /there"},
		{308, "//user:secret@HOST/there", "BASE/there", "/p/f.txt?q=1 /there"},
		{307, "/named", "BASE/name", "/p/f.txt?q=1 /named"},
	} {
		for _, content := range []string{"content", strings.Repeat("c", expectAbove+1)} {
			answers := map[string]http.HandlerFunc{"/named": to(201, "/name?x=1")}
			target := newStorage(t, answers)
			base := strings.NewReplacer("BASE", target.URL, "HOST", target.Listener.Addr().String())
			answers["/p/f.txt"] = to(test.status, base.Replace(test.location))
			if test.location == "" {
				answers["/p/f.txt"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(test.status) }
			}
			s := newStore(t, Options{})
			prefix := strings.Replace(target.URL, "://", "://user:secret@", 1) + "/p?q=1"
			found, err := s.Upload(t.Context(), Destination{Prefix: prefix}, writeFile(t, "f.txt", content))
			if err != nil || found != base.Replace(test.want) {
				t.Errorf("%d %s: %s, %v, want %q", test.status, test.location, found, err, base.Replace(test.want))
			}
			if len(content) > 10 {
				continue // whether the first answer's body was taken is up to the server
			}
			var uris []string
			for _, p := range target.received() {
				uris = append(uris, p.URI)
				if p.Method != http.MethodPut || p.Body != content || p.Header.Get("Authorization") != "Basic dXNlcjpzZWNyZXQ=" {
					t.Errorf("%d %s: got %s %s %v, want a PUT of the content with the credentials of the address", test.status,
						test.location, p.Method, p.URI, p.Header)
				}
			}
			assert.Equal(t, fmt.Sprintf("%d %s, put to", test.status, test.location), strings.Join(uris, " "), test.puts)
		}
	}
}

// TestUpload_CredentialsStayWithTheirHost checks that a redirect does not take those of the prefix along.
func TestUpload_CredentialsStayWithTheirHost(t *testing.T) {
	there := newStorage(t, nil)
	here := newStorage(t, map[string]http.HandlerFunc{"/f.txt": to(307, there.URL+"/x")})
	s := newStore(t, Options{})
	_, err := s.Upload(t.Context(), Destination{Prefix: strings.Replace(here.URL, "://", "://user:secret@", 1)},
		writeFile(t, "f.txt", "c"))
	assert.NoError(t, err)
	puts := there.received()
	if len(puts) != 1 || puts[0].Header.Get("Authorization") != "" || puts[0].Body != "c" || puts[0].Length != 1 {
		t.Errorf("%v, want len(all) 1, Authorization empty, Body c and Length 1", puts)
	}
}

func TestUpload_Retries(t *testing.T) {
	statuses := []int{429, 500, 502, 503, 504, 429, 500, 502, 503, 504, 429, 500, 200}
	var tries atomic.Int32
	target := newStorage(t, map[string]http.HandlerFunc{"/f.txt": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(statuses[tries.Add(1)-1])
	}})
	s := newStore(t, Options{})
	slept := instant(s)
	_, err := s.Upload(t.Context(), Destination{Prefix: target.URL}, writeFile(t, "f.txt", "content"))
	assert.NoError(t, err)
	for _, p := range target.received() {
		assert.Equal(t, "a try sent", p.Body, "content")
	}
	if got, want := fmt.Sprint(*slept),
		"[100ms 200ms 400ms 800ms 1.6s 3.2s 6.4s 12.8s 25.6s 51.2s 1m42.4s 2m0s]"; got != want || tries.Load() != 13 {
		t.Errorf("%d tries, the waits are %s, want %s", tries.Load(), got, want)
	}
}

func TestUpload_Refused(t *testing.T) {
	target := newStorage(t, map[string]http.HandlerFunc{
		"/403/f.txt": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret", http.StatusForbidden) },
		"/413/f.txt": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "secret", http.StatusRequestEntityTooLarge)
		},
		"/500/f.txt":    func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret", 500) },
		"/302/f.txt":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(302) },
		"/304/f.txt":    to(304, "/x"),
		"/loop/f.txt":   to(307, "/loop/f.txt?secret"),
		"/file/f.txt":   to(307, "file:///etc/passwd"),
		"/ftp/f.txt":    to(308, "ftp://secret/x"),
		"/bad/f.txt":    to(307, "http://[::1?secret"),
		"/port/f.txt":   to(307, "http://127.0.0.1:65536/"),
		"/port0/f.txt":  to(308, "http://127.0.0.1:0/"),
		"/closed/f.txt": raw(""),
	})
	s := newStore(t, Options{Retries: 2, MaxRedirects: 3})
	slept := instant(s)
	for _, size := range []int{10, expectAbove + 1} {
		path := writeFile(t, "f.txt", strings.Repeat("c", size))
		for name, test := range map[string]struct {
			cause   any
			retries int
		}{
			"403": {"the server answered 403 Forbidden", 0}, "413": {"the server answered 413 Request Entity Too Large", 0},
			"500": {"the server answered 500 Internal Server Error", 2}, "302": {"the server answered 302 Found", 0},
			"304":  {"the server answered 304 Not Modified", 0},
			"loop": {ErrRedirects, 0}, "file": {ErrRedirects, 0}, "ftp": {ErrRedirects, 0}, "bad": {ErrRedirects, 0},
			"port": {ErrRedirects, 0}, "port0": {ErrRedirects, 0}, "closed": {ErrNoAnswer, 2},
		} {
			*slept = nil
			prefix := strings.Replace(target.URL, "://", "://user:secret@", 1) + "/" + name + "?secret=1#secret"
			found, err := s.Upload(t.Context(), Destination{Prefix: prefix}, path)
			var failed *UploadError
			if !errors.As(err, &failed) || found != "" {
				t.Errorf("%s: %s, %v, want an error of type *UploadError and found empty", name, found, err)
				continue
			}
			cause, _ := test.cause.(error)
			if cause != nil && !errors.Is(err, cause) && size < expectAbove ||
				cause == nil && failed.Cause.Error() != test.cause {
				t.Errorf("%s: %v, want %v", name, failed.Cause, test.cause)
			}
			if !strings.HasPrefix(err.Error(), `cannot upload output file "f.txt" to `+target.URL+"/"+name+": ") ||
				strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: got %v, want it with the file and the URL, and without the query", name, err)
			}
			assert.Equal(t, name+": retries", len(*slept), test.retries)
		}
	}
	server := httptest.NewServer(nil)
	server.Close()
	*slept = nil
	_, err := s.Upload(t.Context(), Destination{Prefix: server.URL + "?secret"}, writeFile(t, "f.txt", "c"))
	if err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "secret") ||
		len(*slept) != 2 {
		t.Errorf(`%v after %d retries, want an error, err with "connection refused" and without "secret" and len(slept) 2`,
			err, len(*slept))
	}
}

// TestUpload_OfNoFile checks that only a file that is there is uploaded, and that no local path is shown.
func TestUpload_OfNoFile(t *testing.T) {
	target := newStorage(t, nil)
	s := newStore(t, Options{})
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	assert.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{filepath.Join(dir, "missing"), dir, pipe} {
		_, err := s.Upload(t.Context(), Destination{Prefix: target.URL}, path)
		assert.True(t, errors.Is(err, ErrNoFile) && !strings.Contains(err.Error(), dir),
			"%s: %v, want error ErrNoFile and err without %q", path, err, dir)
	}
	if _, err := s.Upload(t.Context(), Destination{Prefix: "ftp://secret@h"},
		writeFile(t, "f", "")); !errors.Is(err, ErrPrefix) || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	assert.Equal(t, "requests", len(target.received()), 0)
}

// TestUpload_ToPrivate: DenyPrivateUploads is about what clients ask for, redirects included, and DenyPrivate about
// downloads.
func TestUpload_ToPrivate(t *testing.T) {
	target := newStorage(t, nil)
	path := writeFile(t, "f.txt", "c")
	for _, c := range []struct {
		options Options
		trusted bool
		denied  bool
	}{
		{Options{DenyPrivate: true}, false, false},
		{Options{DenyPrivateUploads: true}, true, false},
		{Options{DenyPrivateUploads: true}, false, true},
	} {
		s := newStore(t, c.options)
		for _, prefix := range []string{target.URL, strings.Replace(target.URL, "127.0.0.1", "localhost", 1)} {
			_, err := s.Upload(t.Context(), Destination{Prefix: prefix, Trusted: c.trusted}, path)
			assert.True(t, errors.Is(err, egress.ErrPrivate) == c.denied && (err != nil) == c.denied,
				"%+v to %s, trusted %v: %v, want Is %t and err != nil %t", c.options, prefix, c.trusted, err, c.denied, c.denied)
			assert.False(t, c.denied && !strings.HasSuffix(err.Error(), ": the address is not public"),
				`the error is %v, want it to end in ": the address is not public"`, err)
		}
	}
}
