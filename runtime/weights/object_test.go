package weights

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pinion/tests/assert"
)

// TestClient_TokensStayWithTheirHost: a redirect to another host gets none, also where it is asked again.
func TestClient_TokensStayWithTheirHost(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string][]string{}
	note := func(host string, req *http.Request) {
		mu.Lock()
		got[host] = append(got[host], req.Header.Get("Authorization"))
		mu.Unlock()
	}
	data := content(3 << 20)
	store := serve(t, func(w http.ResponseWriter, req *http.Request) {
		note("store", req)
		ranges(w, req, data, `"a"`)
	})
	hub := serve(t, func(w http.ResponseWriter, req *http.Request) {
		note("hub", req)
		http.Redirect(w, req, strings.Replace(store, "127.0.0.1", "localhost", 1)+"/y?signature=s", http.StatusFound)
	})
	r := newRig(t)
	o := &object{name: "x", url: assert.Must(url.Parse(hub + "/x"))(t), token: "secret", size: -1}
	c := newClient("test")
	defer c.http.Close()
	assert.NoError(t, c.probe(t.Context(), o))
	hold := assert.Must(r.cache.hold(nil))(t)
	defer hold.Close()
	d := &download{cache: r.cache, client: c, hold: hold, o: o, want: File{Path: "x", Size: -1}, count: &atomic.Int64{}}
	file := assert.Must(d.run(t.Context()))(t)
	assert.Equal(t, "digest", file.Digest, digestPrefix+digest(data))
	mu.Lock()
	defer mu.Unlock()
	for _, token := range got["hub"] {
		assert.Equal(t, "token of the hub", token, "Bearer secret")
	}
	assert.True(t, len(got["hub"]) == 1, "the hub was asked %d times, want once: the redirect is remembered", len(got["hub"]))
	for _, token := range got["store"] {
		assert.Equal(t, "token of the store", token, "")
	}
}
