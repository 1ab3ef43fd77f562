package httpd

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pinion/httpd/access"
	"pinion/tests/assert"
)

// TestForeignPage_ByReferer: it counts where a browser sends neither Sec-Fetch-Site nor Origin.
func TestForeignPage_ByReferer(t *testing.T) {
	s := New(always{newFake()}, Options{CORSOrigins: []string{"https://a.example"}})
	for _, c := range []struct {
		referer, site, origin string
		foreign               bool
	}{
		{"http://evil.example/page?q=http://127.0.0.1:5000/", "", "", true},
		{"http://evil.example", "", "", true},
		{"about:blank", "", "", true},
		{"http://127.0.0.1:5000/docs#x", "", "", false},
		{"https://a.example/page", "", "", false},
		{"http://evil.example/", "same-origin", "", false},
		{"http://evil.example/", "", "http://127.0.0.1:5000", false},
		{"http://127.0.0.1:5000/", "cross-site", "", true},
	} {
		var h fasthttp.RequestHeader
		h.SetHost("127.0.0.1:5000")
		for name, value := range map[string]string{
			fasthttp.HeaderReferer: c.referer, access.HeaderFetchSite: c.site,
			fasthttp.HeaderOrigin: c.origin,
		} {
			if value != "" {
				h.Set(name, value)
			}
		}
		assert.Equal(t, fmt.Sprintf("%+v", c), s.guard.Foreign(&h), c.foreign)
	}
}

// TestOrigin_ForeignPages goes through what browsers send.
func TestOrigin_ForeignPages(t *testing.T) {
	closed := New(always{newFake()}, Options{})
	open := New(always{newFake()}, Options{CORSOrigins: []string{"https://a.example", "null"}})
	anyOrigin := New(always{newFake()}, Options{CORSOrigins: []string{"*"}})
	for _, c := range []struct {
		server             *Server
		method             string
		site, origin, host string
		foreign            bool
	}{
		{closed, "POST", "", "", "evil.example", false}, // no browser
		{closed, "POST", "cross-site", "https://evil.example", "localhost:5000", true},
		{closed, "POST", "same-site", "http://localhost:3000", "localhost:5000", true},
		{closed, "POST", "cross-site", "", "localhost:5000", true},
		{closed, "POST", "same-origin", "https://model.example", "127.0.0.1:5000", false}, // a proxy's Host
		{closed, "POST", "same-origin", "null", "127.0.0.1:5000", false},
		{closed, "POST", "none", "", "127.0.0.1:5000", false},
		{closed, "POST", "rubbish", "http://127.0.0.1:5000", "127.0.0.1:5000", true},
		{closed, "PUT", "", "https://evil.example", "localhost:5000", true},
		{closed, "DELETE", "", "https://evil.example", "localhost:5000", true},
		{closed, "GET", "cross-site", "https://evil.example", "localhost:5000", false},
		{closed, "HEAD", "", "https://evil.example", "localhost:5000", false},
		{closed, "OPTIONS", "", "https://evil.example", "localhost:5000", false},
		{closed, "POST", "", "null", "localhost:5000", true},
		{closed, "POST", "", "file://", "localhost:5000", true},
		{closed, "POST", "", "http://", "", true},
		{closed, "POST", "", "chrome-extension://abc", "abc", true},
		{closed, "POST", "", "http://192.168.1.7:5000", "192.168.1.7:5000", false},
		{closed, "POST", "", "http://192.168.1.7:5001", "192.168.1.7:5000", true},
		{closed, "POST", "", "http://[fd00::1]:5000", "[fd00::1]:5000", false},
		{closed, "POST", "", "http://192.168.1.7", "192.168.1.7:80", false},
		{closed, "POST", "", "https://192.168.1.7", "192.168.1.7", false},
		{closed, "POST", "", "http://GPU:5000", "gpu:5000", false},
		{closed, "POST", "", "http://gpu.local:5000", "gpu.local:5000", false},
		{closed, "POST", "", "http://x.home.arpa", "x.home.arpa", false},
		{closed, "POST", "", "http://rebound.example:5000", "rebound.example:5000", true},
		{closed, "POST", "", "http://rebound.example.:5000", "rebound.example.:5000", true},
		{closed, "POST", "", "http://notlocal:5000", "notlocal:5000", false},
		{closed, "POST", "", "http://evil.notlocal:5000", "evil.notlocal:5000", true},
		{closed, "POST", "", "https://model.example", "model.example", false}, // only it has this certificate
		{open, "POST", "cross-site", "https://a.example", "localhost", false},
		{open, "POST", "cross-site", "https://b.example", "localhost", true},
		{open, "POST", "", "null", "localhost", false},
		{anyOrigin, "POST", "cross-site", "https://b.example", "localhost", false},
	} {
		var ctx fasthttp.RequestCtx
		h := &ctx.Request.Header
		h.SetMethod(c.method)
		h.SetHost(c.host)
		if c.site != "" {
			h.Set("Sec-Fetch-Site", c.site)
		}
		if c.origin != "" {
			h.Set("Origin", c.origin)
		}
		assert.Equal(t, fmt.Sprintf("%+v: foreign", c), c.server.guard.ForeignPage(&ctx), c.foreign)
	}
}

// TestCORS_PrivateNetwork: Chrome asks before a page of the internet calls a server in a private network.
func TestCORS_PrivateNetwork(t *testing.T) {
	s := New(always{newFake()}, Options{CORSOrigins: []string{"https://*.example.com"}})
	for origin, want := range map[string]string{"https://a.example.com": "true", "https://evil.test": ""} {
		var ctx fasthttp.RequestCtx
		h := &ctx.Request.Header
		h.SetMethod("OPTIONS")
		h.SetRequestURI("/predictions")
		h.Set("Origin", origin)
		h.Set("Access-Control-Request-Method", "POST")
		h.Set("Access-Control-Request-Private-Network", "true")
		s.handle(&ctx)
		assert.Equal(t, origin, string(ctx.Response.Header.Peek("Access-Control-Allow-Private-Network")), want)
	}
}

// TestOrigin_ShutdownPolicy: who may end the server.
func TestOrigin_ShutdownPolicy(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	remote := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}
	for _, c := range []struct {
		options Options
		from    net.Addr
		header  string
		code    int
	}{
		{Options{}, loopback, "", 200},
		{Options{}, &net.UnixAddr{Name: "@", Net: "unix"}, "", 200},
		{Options{}, remote, "", 403},
		{Options{}, loopback, "X-Forwarded-Host", 403},
		{Options{}, loopback, "Fastly-Client-Ip", 403},
		{Options{ShutdownFromAny: true}, remote, "", 200},
		{Options{ShutdownFromAny: true}, loopback, "X-Forwarded-For", 200},
		{Options{ShutdownFromAny: true}, loopback, "Origin", 403},
	} {
		f := newFake()
		c.options.Shutdown = f.shutdown
		s := New(always{f}, c.options)
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, c.from, nil)
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.SetRequestURI("/shutdown")
		if c.header != "" {
			ctx.Request.Header.Set(c.header, "x")
		}
		s.handle(&ctx)
		assert.Equal(t, fmt.Sprintf("%+v from %s, %q", c.options, c.from, c.header), ctx.Response.StatusCode(), c.code)
		heard := len(f.shutdowns) > 0
		assert.True(t, heard == (c.code == 200), "%+v from %s, %q: heard: %v, want %t", c.options, c.from, c.header, heard, c.code == 200)
	}
}

// TestOrigin_ProxiesMayNotShutDownOrReload: a request with any header by which proxies say that they passed it on is
// not of this machine.
func TestOrigin_ProxiesMayNotShutDownOrReload(t *testing.T) {
	headers := []string{
		"Via", "Forwarded", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Forwarded-For",
		"X-Envoy-External-Address",
		"Cf-Connecting-Ip", "True-Client-Ip", "Fastly-Client-Ip", "Fly-Client-Ip", "X-Forwarded", "X-Forwarded-For",
		"X-Forwarded-Proto",
		"x-forwarded-by", "via",
	}
	f := newFake()
	s := New(always{f}, Options{
		Shutdown: f.shutdown,
		Reload:   func() (string, error) { t.Error("a proxy reloaded the model, want a refusal"); return "", nil },
	})
	for _, path := range []string{"/shutdown", "/reload"} {
		for _, header := range headers {
			var ctx fasthttp.RequestCtx
			ctx.Init(&fasthttp.Request{}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, nil)
			ctx.Request.Header.DisableNormalizing()
			ctx.Request.Header.SetMethod("POST")
			ctx.Request.SetRequestURI(path)
			ctx.Request.Header.Set(header, "x")
			s.handle(&ctx)
			got := ctx.Response.StatusCode()
			assert.True(t, got == 403 && len(f.shutdowns) == 0, "POST %s with %s: %d, want 403 and len(shutdowns) empty", path, header, got)
		}
	}
}

// TestAllowedHost_PagesWorkAtIt: over plain http a public name is the server's own only if the operator says so, and
// the refusal says how.
func TestAllowedHost_PagesWorkAtIt(t *testing.T) {
	for _, c := range []struct {
		host, origin, site string
		code               int
		says               string
	}{
		{"gpu.example.com:5000", "http://gpu.example.com:5000", "", 200, ""},
		{"GPU.example.com", "http://gpu.example.com", "", 200, ""},
		{"other.example.com:5000", "http://other.example.com:5000", "", 403, "--allowed-host other.example.com"},
		{"10.0.0.1:5000", "http://10.0.0.1:5000", "", 200, ""},
		{"gpu.example.com:5000", "http://evil.example.com", "", 403, "--cors-origin http://evil.example.com"},
		{"gpu.example.com:5000", "http://gpu.example.com:5000", "cross-site", 403, "--cors-origin"},
	} {
		s := New(always{newFake()}, Options{AllowedHosts: []string{"gpu.example.com"}})
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		h := &ctx.Request.Header
		h.SetMethod("POST")
		ctx.Request.SetRequestURI("/predictions")
		h.SetHost(c.host)
		h.Set("Origin", c.origin)
		if c.site != "" {
			h.Set("Sec-Fetch-Site", c.site)
		}
		foreign, body := s.guard.Foreign(h), ""
		if foreign {
			body = s.guard.RefuseForeign(h).Message
		}
		assert.True(t, foreign == (c.code == 403) && strings.Contains(body, c.says),
			"at %s for %s (%s): got foreign %v and %s, want %d and %q", c.host, c.origin, c.site, foreign, body, c.code, c.says)
	}
}
