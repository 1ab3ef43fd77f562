package httpd

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pinion/tests/assert"
)

// TestReload_FromThisMachineOnly: only clients on this machine may reload.
func TestReload_FromThisMachineOnly(t *testing.T) {
	asked := 0
	var notice string
	var fail error
	s := New(always{newFake()}, Options{Reload: func() (string, error) { asked++; return notice, fail }})
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	for _, c := range []struct {
		from   net.Addr
		header string
		code   int
	}{
		{loopback, "", 202},
		{&net.TCPAddr{IP: net.IPv6loopback, Port: 1}, "", 202},
		{&net.UnixAddr{Name: "@", Net: "unix"}, "", 202},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}, "", 403},
		{loopback, "X-Forwarded-For: 192.0.2.1", 403},
		{loopback, "Forwarded: for=192.0.2.1", 403},
		{loopback, "Origin: https://example.com", 403},
	} {
		before := asked
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, c.from, nil)
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.SetRequestURI("/reload")
		if name, value, ok := strings.Cut(c.header, ": "); ok {
			ctx.Request.Header.Set(name, value)
		}
		s.handle(&ctx)
		assert.Equal(t, fmt.Sprintf("%s, %q", c.from, c.header), ctx.Response.StatusCode(), c.code)
		heard := asked > before
		assert.True(t, heard == (c.code == 202), "%s, %q: heard: %v, want %t", c.from, c.header, heard, c.code == 202)
	}
	var ctx fasthttp.RequestCtx
	for _, c := range []struct{ notice, body string }{
		{"", "{}"},
		{`the "binary" is gone`, `{"warning":"the \"binary\" is gone"}`},
	} {
		notice = c.notice
		ctx = fasthttp.RequestCtx{}
		ctx.Init(&fasthttp.Request{}, loopback, nil)
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.SetRequestURI("/reload")
		s.handle(&ctx)
		assert.Equal(t, "the answer", string(ctx.Response.Body()), c.body)
	}
	fail = errors.New("no such folder")
	ctx = fasthttp.RequestCtx{}
	ctx.Init(&fasthttp.Request{}, loopback, nil)
	ctx.Request.Header.SetMethod("POST")
	ctx.Request.SetRequestURI("/reload")
	s.handle(&ctx)
	assert.Equal(t, "status code", ctx.Response.StatusCode(), 500)
	assert.Contains(t, "string(ctx.Response.Body())", string(ctx.Response.Body()), "no such folder")
}
