package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/tests/assert"
)

// TestClient_Send: redirects are followed with the same request, and the token stays with its host.
func TestClient_Send(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	other := strings.Replace(server.URL, "127.0.0.1", "u:p@localhost", 1)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Method+" "+r.URL.Path+" "+string(body)+" "+r.Header.Get("Authorization")+" "+r.UserAgent())
		to := map[string]string{
			"/307": "/here", "/308": other + "/there", "/303": "/here", "/loop": "/loop", "/file": "file:///x",
		}[r.URL.Path]
		if to != "" {
			w.Header().Set("Location", to)
		}
		code := map[string]int{"/308": 308, "/303": 303, "/none": 302}[r.URL.Path]
		if code == 0 && to != "" {
			code = 307
		}
		w.WriteHeader(max(code, 200))
	})
	c := New(Options{UserAgent: "test", MaxRedirects: 2, ConnectTimeout: time.Minute})
	defer c.Close()
	for _, test := range []struct {
		path     string
		seeOther bool
		status   int
		err      error
		requests string
	}{
		{"/here", false, 200, nil, "PUT /here b Bearer t test"},
		{"/307", false, 200, nil, "PUT /307 b Bearer t test|PUT /here b Bearer t test"},
		{"/308", false, 200, nil, "PUT /308 b Bearer t test|PUT /there b Basic dTpw test"},
		{"/303", false, 303, nil, "PUT /303 b Bearer t test"},
		{"/303", true, 200, nil, "PUT /303 b Bearer t test|PUT /here b Bearer t test"},
		{"/none", false, 302, nil, "PUT /none b Bearer t test"},
		{"/loop", false, 0, ErrRedirect, strings.Repeat("|PUT /loop b Bearer t test", 3)[1:]},
		{"/file", false, 0, ErrRedirect, "PUT /file b Bearer t test"},
	} {
		target := assert.Must(url.Parse(server.URL + test.path))(t)
		response, _, err := c.Send(t.Context(), &Request{
			Method: http.MethodPut, Size: 1, Token: "t", SeeOther: test.seeOther, Header: http.Header{},
			Body: func() io.ReadCloser { return io.NopCloser(strings.NewReader("b")) },
		}, target)
		status := 0
		if err == nil {
			status = response.StatusCode
			Discard(response)
		}
		mu.Lock()
		requests := strings.Join(got, "|")
		got = nil
		mu.Unlock()
		assert.True(t, status == test.status && errors.Is(err, test.err) && requests == test.requests,
			"%s: got %d, %v, %q; want %d, %v, %q", test.path, status, err, requests, test.status, test.err, test.requests)
	}
}

// TestClient_TokenStaysInTLS: a token is not sent on from https to http of the same host.
func TestClient_TokenStaysInTLS(t *testing.T) {
	t.Parallel()
	parse := func(text string) *url.URL {
		return assert.Must(url.Parse(text))(t)
	}
	c := New(Options{})
	for pair, want := range map[[2]string]string{
		{"https://a/", "http://a/"}:     "",
		{"http://a/", "https://a:1/"}:   "Bearer t",
		{"https://a/", "https://a/b"}:   "Bearer t",
		{"https://a/", "https://b.a/"}:  "",
		{"https://a/", "https://u@a/"}:  "Bearer t",
		{"https://a/", "http://u:p@a/"}: "Basic dTpw",
	} {
		r := &Request{Method: http.MethodPost, Header: http.Header{}, Token: "t"}
		request := c.request(t.Context(), r, parse(pair[0]), parse(pair[1]))
		assert.Equal(t, fmt.Sprintf("%v", pair), request.Header.Get("Authorization"), want)
	}
}

// TestClient_UnreadableAnswers: an answer that cannot be read is final, and a connection that broke is not.
func TestClient_UnreadableAnswers(t *testing.T) {
	t.Parallel()
	for answer, final := range map[string]bool{
		"HTTP/1.1 200 OK\r\nX-Large: " + strings.Repeat("x", 70<<10) + "\r\n\r\n": true,
		"220 mail.example ESMTP\r\n":                   true,
		"HTTP/1.1 200 OK\r\nno header\r\n\r\n":         true,
		"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n": true,
		"HTTP/1.1 200": false,
		"":             false,
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		assert.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = http.ReadRequest(bufio.NewReader(c))
				_, _ = io.WriteString(c, answer)
				_ = c.Close()
			}
		}()
		client := New(Options{})
		_, _, err = client.Send(t.Context(), &Request{Method: http.MethodPut, Header: http.Header{}},
			&url.URL{Scheme: "http", Host: listener.Addr().String()})
		assert.True(t, err != nil && Temporary(err) == !final, "%.40q: got %v, temporary %v, want %v", answer, err, Temporary(err), !final)
		client.Close()
	}
}
