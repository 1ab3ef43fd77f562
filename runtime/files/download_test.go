package files

import (
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pinion/runtime/egress"
	"pinion/tests/assert"
)

// serve answers by the path of the request.
func serve(t *testing.T, paths map[string]http.HandlerFunc) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	for path, handler := range paths {
		mux.HandleFunc(path, handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}

// raw answers with text as it is and closes the connection.
func raw(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		fmt.Fprint(conn, text)
		conn.Close()
	}
}

func TestDownload_Succeeds(t *testing.T) {
	zipped := &bytes.Buffer{}
	z := gzip.NewWriter(zipped)
	fmt.Fprint(z, "inside")
	z.Close()
	server := serve(t, map[string]http.HandlerFunc{
		"/plain.txt": func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "plain") },
		"/auth":      func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header.Get("Authorization")) },
		"/empty":     func(http.ResponseWriter, *http.Request) {},
		"/chunked": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "one ")
			_ = http.NewResponseController(w).Flush()
			fmt.Fprint(w, "two")
		},
		"/old":        raw("HTTP/1.0 200 OK\r\n\r\nno length"),
		"/relative":   redirect("plain.txt?x=1"),
		"/again":      redirect("/relative"),
		"/a%20b/ü.gz": func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) },
		"/zipped.gz": func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, "Accept-Encoding", r.Header.Get("Accept-Encoding"), "")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped.Bytes())
		},
	})
	s := newStore(t, Options{})
	for path, want := range map[string]string{
		"/plain.txt": "plain", "/plain.txt#fragment": "plain", "/empty": "", "/chunked": "one two", "/old": "no length",
		"/relative": "plain", "/again": "plain", "/zipped.gz": "inside", "/a%20b/%C3%BC.gz": "/a b/ü.gz",
		"/a b/ü.gz": "/a b/ü.gz",
	} {
		_, contents := fetched(t, s, server.URL+path)
		assert.True(t, contents[0] == want, "%s: %q, want %q", path, contents[0], want)
	}
	_, contents := fetched(t, s, strings.Replace(server.URL, "://", "://user:pass@", 1)+"/auth")
	assert.Equal(t, "credentials", contents[0], "Basic dXNlcjpwYXNz")
}

func TestDownload_Refused(t *testing.T) {
	server := serve(t, map[string]http.HandlerFunc{
		"/401":          func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) },
		"/204":          func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
		"/302":          func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(302) },
		"/599":          func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(599) },
		"/loop":         redirect("/loop?secret=1"),
		"/to-file":      redirect("file:///etc/passwd"),
		"/to-data":      redirect("data:,x"),
		"/to-nothing":   redirect("http://"),
		"/to-bad":       redirect("http://[::1?secret=1"),
		"/short":        raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"),
		"/half-chunk":   raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nhalf"),
		"/no-last":      raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"),
		"/no-answer":    raw(""),
		"/large":        func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 1001)) },
		"/large-stated": raw("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"),
		"/large-hidden": func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				fmt.Fprint(w, strings.Repeat("x", 1000))
				_ = http.NewResponseController(w).Flush()
			}
		},
		"/to-short": redirect("/short"),
	})
	s := newStore(t, Options{MaxFile: 1000, MaxRedirects: 3})
	for path, want := range map[string]any{
		"/401": "the server answered 401 Unauthorized", "/204": "the server answered 204 No Content",
		"/302": "the server answered 302 Found", "/599": "the server answered 599",
		"/missing": "the server answered 404 Not Found",
		"/loop":    ErrRedirects, "/to-file": ErrRedirects, "/to-data": ErrRedirects, "/to-nothing": ErrRedirects,
		"/to-bad": ErrRedirects,
		"/short":  ErrTruncated, "/half-chunk": ErrTruncated, "/no-last": ErrTruncated, "/to-short": ErrTruncated,
		"/no-answer": ErrTruncated,
		"/large":     ErrTooLarge, "/large-stated": ErrTooLarge, "/large-hidden": ErrTooLarge,
	} {
		err := refused(t, s, strings.Replace(server.URL, "://", "://user:secret@", 1)+path+"?secret=1#secret")
		if sentinel, ok := want.(error); ok {
			assert.ErrorIs(t, path, err, sentinel)
		} else if err.Cause.Error() != want {
			t.Errorf("%s: %v, want %v", path, err.Cause, want)
		}
		assert.True(t, err.URL == server.URL+path && !strings.Contains(err.Error(), "secret") && err.Field == "x/0",
			`%s: %v, want URL %q, err without "secret" and Field x/0`, path, err, server.URL+path)
	}
}

func TestDownload_MaxFileIsAllowed(t *testing.T) {
	server := serve(t, map[string]http.HandlerFunc{
		"/": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 1000)) },
	})
	for _, most := range []int64{1000, -1} {
		s := newStore(t, Options{MaxFile: most})
		fetched(t, s, server.URL)
		fetched(t, s, "data:,"+strings.Repeat("x", 1000))
	}
}

func TestDownload_NoRedirects(t *testing.T) {
	server := serve(t, map[string]http.HandlerFunc{"/": redirect("/x")})
	assert.ErrorIs(t, "the refusal", refused(t, newStore(t, Options{MaxRedirects: -1}), server.URL), ErrRedirects)
}

func TestDownload_Unreachable(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	err := refused(t, newStore(t, Options{}), server.URL+"/x?secret=1")
	assert.True(t, strings.Contains(err.Error(), "connection refused") && !strings.Contains(err.Error(), "secret"),
		`got %+v, want it with "connection refused" and without "secret"`, err)
}

// TestDownload_Certificate checks that a server that can't prove its name is not believed.
func TestDownload_Certificate(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.Config.ErrorLog = log.New(t.Output(), "", 0)
	server.StartTLS()
	defer server.Close()
	err := refused(t, newStore(t, Options{}), server.URL)
	var unknown x509.UnknownAuthorityError
	assert.True(t, errors.As(err, &unknown), "got %+v, want an error of type x509.UnknownAuthorityError", err)
}

// TestDownload_Stall and TestDownload_Timeout give up on a server that goes silent after some bytes.
func TestDownload_Stall(t *testing.T) {
	server, _ := blocker(t)
	assert.ErrorIs(t, "the refusal", refused(t, newStore(t, Options{Stall: 20 * time.Millisecond}), server.URL+"/block"), ErrStalled)
}

func TestDownload_Timeout(t *testing.T) {
	server, _ := blocker(t)
	s := newStore(t, Options{Stall: -1, Timeout: 20 * time.Millisecond})
	assert.ErrorIs(t, "the refusal", refused(t, s, server.URL+"/block"), ErrTimeout)
	fetched(t, newStore(t, Options{Stall: -1, Timeout: -1}), "data:,x")
}

// TestDownload_Drip checks that a server that keeps sending, and never comes to an end, is given up too.
func TestDownload_Drip(t *testing.T) {
	server := serve(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			fmt.Fprint(w, "x")
			_ = http.NewResponseController(w).Flush()
		}
	}})
	s := newStore(t, Options{Timeout: 50 * time.Millisecond, MaxFile: -1})
	assert.ErrorIs(t, "refused(t, s, server.URL)", refused(t, s, server.URL), ErrTimeout)
}

// TestDownload_Slow gives up on a server that sends less than the least rate, though it is never silent.
func TestDownload_Slow(t *testing.T) {
	drip := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			fmt.Fprint(w, "x")
			_ = http.NewResponseController(w).Flush()
		}
	}
	server := serve(t, map[string]http.HandlerFunc{"/": drip, "/to": redirect("/")})
	for _, path := range []string{"/", "/to"} {
		s := newStore(t, Options{Stall: 50 * time.Millisecond, MinRate: 1 << 40, MaxFile: -1})
		assert.ErrorIs(t, path, refused(t, s, server.URL+path), ErrSlow)
	}
}

// TestDownload_Silence checks that the limit on silence holds before the answer begins, and between redirects.
func TestDownload_Silence(t *testing.T) {
	server := serve(t, map[string]http.HandlerFunc{
		"/": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "/to": redirect("/"),
	})
	s := newStore(t, Options{Stall: 20 * time.Millisecond})
	for _, path := range []string{"/", "/to"} {
		assert.ErrorIs(t, path, refused(t, s, server.URL+path), ErrStalled)
	}
}

// TestDownload_Length holds what is made of a Content-Length that is not that of the body.
func TestDownload_Length(t *testing.T) {
	server := serve(t, map[string]http.HandlerFunc{
		"/less":  raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfour and more"),
		"/two":   raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nfour "),
		"/minus": raw("HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\nfour"),
		"/huge":  raw("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nfour"),
		"/both":  raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n"),
	})
	s := newStore(t, Options{MaxFile: 1000})
	for path, want := range map[string]string{"/less": "four", "/both": "four"} {
		_, contents := fetched(t, s, server.URL+path)
		assert.True(t, contents[0] == want, "%s: %q, want %q", path, contents[0], want)
	}
	for _, path := range []string{"/two", "/minus", "/huge"} {
		refused(t, s, server.URL+path)
	}
}

// TestDownload_CredentialsAndRedirects checks that the credentials of a URL go to no other host.
func TestDownload_CredentialsAndRedirects(t *testing.T) {
	serveHost := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("Authorization"), r.Referer())
	}
	there := serve(t, map[string]http.HandlerFunc{"/": serveHost})
	here := serve(t, map[string]http.HandlerFunc{
		"/away": redirect(there.URL), "/near": redirect("/serveHost"),
		"/serveHost": serveHost,
	})
	s := newStore(t, Options{})
	for path, want := range map[string]string{"/away": "", "/near": "Basic dTpw"} {
		_, contents := fetched(t, s, strings.Replace(here.URL, "://", "://u:p@", 1)+path)
		assert.True(t, contents[0] == want, "%s: %q, want %q", path, contents[0], want)
	}
}

func TestDownload_DenyPrivate(t *testing.T) {
	server := serve(t, map[string]http.HandlerFunc{"/": func(http.ResponseWriter, *http.Request) {}})
	t.Setenv("HTTP_PROXY", server.URL) // must not be asked
	s := newStore(t, Options{DenyPrivate: true})
	for _, u := range []string{
		server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1),
		strings.Replace(server.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1),
	} {
		err := refused(t, s, u)
		assert.True(t, errors.Is(err, egress.ErrPrivate) && strings.HasSuffix(err.Error(), ": the address is not public"),
			`%s: %v, want error ErrPrivate and err ending in ": the address is not public"`, u, err)
	}
	fetched(t, s, "data:,x")
	fetched(t, newStore(t, Options{}), server.URL) // allowed unless it is asked for
}

// TestDownload_URLForms covers what schema lets through, or a caller might give without it.
func TestDownload_URLForms(t *testing.T) {
	s := newStore(t, Options{})
	for _, u := range []string{"ftp://example.com/x", "http://", "http://[::1", "nothing"} {
		p := prepared(t, "data:,x")
		p.Files[0].URL = u
		_, _, err := s.Fetch(t.Context(), "id", p)
		assert.ErrorIs(t, u, err, ErrScheme)
		noFiles(t, s)
	}
}

func TestDownload_Names(t *testing.T) {
	header := func(name, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			w.Header().Set(name, value)
		}
	}
	server := serve(t, map[string]http.HandlerFunc{
		"/":             header("X", ""),
		"/d/plain":      header("Content-Disposition", `attachment; filename="report.pdf"`),
		"/d/named.jpg":  header("Content-Disposition", `attachment; filename="other.png"`),
		"/t/image":      header("Content-Type", "image/png; x=y"),
		"/t/unknown":    header("Content-Type", "application/x-unheard-of"),
		"/t/bad":        header("Content-Type", ";"),
		"/t/":           header("Content-Type", "video/mp4"),
		"/r/redirected": redirect("/final/it.webp"),
		"/r/nowhere":    redirect("/t/image"),
	})
	s := newStore(t, Options{})
	long := strings.Repeat("é", 200)
	for path, want := range map[string]string{
		"": "file", "/": "file", "/a.png": "a.png", "/a.tar.gz?x=b.zip#c.rar": "a.tar.gz", "/a": "a", "/dir.d/": "file",
		"/..%2F..%2Fetc%2Fpass.wd": "_.._etc_pass.wd", "/%2e%2e.txt": "txt", "/.hidden": "hidden",
		"/%00%0a%1b.png":    "___.png",
		"/%E2%80%AEgpj.exe": "_gpj.exe", "/%ff.png": "_.png", "/a%5Cb.png": "a_b.png", "/%20x.png%20": "x.png", "/a.": "a",
		"/%zz.png":                       "",
		"/" + long + ".png":              strings.Repeat("é", 73) + ".png",
		"/a." + strings.Repeat("b", 300): "a." + strings.Repeat("b", 148),
		"/d/plain":                       "plain",
		"/d/named.jpg":                   "named.jpg",
		"/p/cat.png;v=2":                 "cat.png",
		"/p/c%61t%20x.png;a=1;b=2?x=1":   "cat x.png",
		"/p/a;b.png":                     "a;b.png",
		"/p/a%3Bb.png;v":                 "a;b.png",
		"/p/a;v=1":                       "a;v=1",
		"/t/image":                       "image",
		"/t/unknown":                     "unknown",
		"/t/bad":                         "bad",
		"/t/":                            "file",
		"/r/redirected":                  "redirected",
		"/r/nowhere":                     "nowhere",
	} {
		if want == "" {
			continue // not a URL at all; see TestDownload_URLForms
		}
		paths, _ := fetched(t, s, server.URL+path)
		assert.Equal(t, path, filepath.Base(paths[0]), want)
		if filepath.Base(filepath.Dir(paths[0])) != strconv.Itoa(0) {
			t.Errorf("%s: %s, want %q", path, paths[0], strconv.Itoa(0))
		}
	}
}
