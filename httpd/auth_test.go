package httpd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pinion/httpd/access"
	"pinion/runtime/health"
	"pinion/tests/assert"
)

// TestAuth_Tokens: which requests want a token, and what the others get.
func TestAuth_Tokens(t *testing.T) {
	const known, other = "a-token-of-this-server", "another-of-its-tokens"
	var tokens access.Tokens
	tokens.Set([]string{known, other})
	page := func(ctx *fasthttp.RequestCtx) {}
	f := newFake()
	f.health = health.Document{
		Status: "READY", Setup: &health.Setup{Status: "succeeded", Logs: "secret", LastLine: "secret"},
		Version: map[string]string{"pinion": "secret"}, Workers: []health.Worker{{PID: 7}}, ModelError: "secret",
	}
	s := New(always{f}, Options{
		Tokens: &tokens, Public: []string{"/docs"}, Docs: page, Metrics: page,
		CORSOrigins: []string{"https://a.example"},
	})
	for _, c := range []struct {
		method, path, header string
		code                 int
	}{
		{"GET", "/livez", "", 200},
		{"GET", "/readyz", "", 200},
		{"GET", "/health-check", "", 200},
		{"HEAD", "/livez", "", 200},
		{"GET", "/docs", "", 200},
		{"GET", "/docs?x=1", "", 200},
		{"GET", "/", "", 401},
		{"GET", "/openapi.json", "", 401},
		{"GET", "/metrics", "", 401},
		{"GET", "/predictions/a", "", 401},
		{"GET", "/nothing", "", 401}, // clients without a token do not learn which paths exist
		{"GET", "/docs/", "", 303},   // to /docs
		{"POST", "/docs/", "", 401},
		{"GET", "/docs/about", "", 401},
		{"GET", "/%64ocs", "", 200},
		{"GET", "/%6Divez", "", 401},
		{"GET", "/docs%2f..%2fmetrics", "", 401},
		{"GET", "/%6Detrics", "", 401},
		{"GET", "//docs", "", 401},
		{"GET", "/docs/../metrics", "", 401},
		{"POST", "/predictions", "", 401},
		{"PUT", "/predictions/a", "", 401},
		{"POST", "/predictions/a/cancel", "", 401},
		{"POST", "/shutdown", "", 401},
		{"OPTIONS", "/predictions", "", 401},
		{"GET", "/metrics", "Bearer " + known, 200},
		{"GET", "/metrics", "bearer  " + other, 200},
		{"POST", "/predictions", "Bearer " + known, 200},
		{"GET", "/metrics", "Bearer " + known[:len(known)-1], 401},
		{"GET", "/metrics", "Bearer " + known + "x", 401},
		{"GET", "/metrics", "Bearer ", 401},
		{"GET", "/metrics", "Bearer", 401},
		{"GET", "/metrics", known, 401},
		{"GET", "/metrics", "Basic " + known, 401},
	} {
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.Header.SetMethod(c.method)
		ctx.Request.SetRequestURI(c.path)
		ctx.Request.Header.SetHost("x")
		if c.header != "" {
			ctx.Request.Header.Set("Authorization", c.header)
		}
		s.handle(&ctx)
		assert.Equal(t, fmt.Sprintf("%s %s, %q", c.method, c.path, c.header), ctx.Response.StatusCode(), c.code)
		challenge := string(ctx.Response.Header.Peek("WWW-Authenticate"))
		wrong := strings.Contains(challenge, "invalid_token")
		if (challenge != "") != (c.code == 401) || wrong != (c.code == 401 && strings.HasPrefix(c.header, "Bearer ")) {
			t.Errorf("%s %s, %q: the challenge is %q, want one with each 401, and invalid_token for a wrong token", c.method,
				c.path, c.header, challenge)
		}
		body := string(ctx.Response.Body())
		assert.True(t, !strings.Contains(body, "secret") && (c.header == "" || !strings.Contains(body, known)),
			`%s %s, %q: got %s, want it without "secret" and without "a-token-of-this-server"`, c.method, c.path, c.header, body)
	}
	preflight := "OPTIONS /predictions HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\r\nAccess-Control-Request-Method: POST\r\n\r\n"
	client := serve(t, f, Options{Tokens: &tokens, CORSOrigins: []string{"https://a.example"}}).dial(t)
	client.send(preflight)
	client.want(204) // a browser sends no token with it
	client.send("POST /predictions HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\r\nContent-Length: 0\r\n\r\n")
	if resp, _ := client.want(401); resp.Header.Get("Access-Control-Allow-Origin") == "" {
		t.Error(`the page cannot read why it was refused: got "", want some text`)
	}
	tokens.Set([]string{other})
	client.send("GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + known + "\r\n\r\n")
	client.want(401)
	client.send("GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + other + "\r\n\r\n")
	client.want(200)
	client.send("GET /health-check HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + other + "\r\n\r\n")
	if _, body := client.want(200); strings.Count(body, "secret") != 4 || !strings.Contains(body, `"pid":7`) {
		t.Errorf("with a token health is %s, want Count 4 and body with %q", body, `"pid":7`)
	}
}

// TestAuth_NoTokensNoAccess: an empty set accepts no token.
func TestAuth_NoTokensNoAccess(t *testing.T) {
	var tokens access.Tokens
	assert.True(t, !tokens.Has(nil) && !tokens.Has([]byte("x")),
		`it takes a token, want tokens.Has(nil) false and tokens.Has([]byte("x")) false`)
	tokens.Set(nil)
	assert.False(t, tokens.Has(nil), "it takes an empty token")
}

// TestAuth_Monitor: the monitor answers what monitoring needs, and nothing else.
func TestAuth_Monitor(t *testing.T) {
	var tokens access.Tokens
	s := NewMonitor(always{newFake()}, Options{
		Tokens:  &tokens,
		Metrics: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("m 1") },
	})
	for path, code := range map[string]int{
		"/metrics": 200, "/livez": 200, "/readyz": 200, "/health-check": 200, "/": 404, "/predictions": 404, "/shutdown": 404,
		"/docs": 404, "/openapi.json": 404,
	} {
		for _, method := range []string{"GET", "POST"} {
			want := code
			if method == "POST" && code == 200 {
				want = 405
			}
			var ctx fasthttp.RequestCtx
			ctx.Init(&fasthttp.Request{}, nil, nil)
			ctx.Request.Header.SetMethod(method)
			ctx.Request.SetRequestURI(path)
			s.handle(&ctx)
			assert.Equal(t, fmt.Sprintf("%s %s", method, path), ctx.Response.StatusCode(), want)
		}
	}
}
