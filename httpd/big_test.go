package httpd

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// These clients send everything before they read: without a lingering close, the reset for what the server left unread
// would discard the answer.

func TestBig_TooLargeBodyCanBeRead(t *testing.T) {
	s := serve(t, newFake(), Options{})
	mib := bytes.Repeat([]byte("a"), 1<<20)

	t.Run("length", func(t *testing.T) {
		c := s.dial(t)
		c.send("POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Length: 105906176\r\n\r\n")
		for range 101 {
			c.send(string(mib))
		}
		resp, body := c.want(413)
		assert.Equal(t, `resp.Header.Get("Content-Type")`, resp.Header.Get("Content-Type"), "application/json")
		assert.Contains(t, "body", body, "104857600")
		c.ended()
	})
	t.Run("chunked", func(t *testing.T) {
		c := s.dial(t)
		c.send("POST /predictions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
		for range 101 {
			c.send("100000\r\n" + string(mib) + "\r\n")
		}
		c.send("0\r\n\r\n")
		c.want(413)
		c.ended()
	})
	t.Run("expected", func(t *testing.T) {
		c := s.dial(t)
		c.send("POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Length: 105906176\r\nExpect: 100-continue\r\n\r\n")
		c.want(413)
		c.Close()
	})
}

func TestBig_MalformedRequestCanBeRead(t *testing.T) {
	c := serve(t, newFake(), Options{}).dial(t)
	c.send("NONSENSE\r\n\r\n" + strings.Repeat("more nonsense\r\n", 1<<20))
	c.want(400)
	c.ended()
}

func TestBig_LargestBodyPasses(t *testing.T) {
	const most = 100 << 20
	f := newFake()
	s := serve(t, f, Options{})
	head, tail := `{"input":{"s":"`, `"}}`
	fill := bytes.Repeat([]byte("a"), most-len(head)-len(tail))

	c := s.dial(t)
	c.send(fmt.Sprintf("POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", most, head))
	_, err := c.Write(fill)
	assert.NoError(t, err)
	c.send(tail)
	c.want(200)
	assert.Equal(t, "bytes of the input", len(f.request().Input), most-len(`{"input":}`))
}

func TestBig_SmallLimit(t *testing.T) {
	s := serve(t, newFake(), Options{MaxBody: 10})
	c := s.dial(t)
	c.post(`{"id":"x"}`)
	c.want(200)
	c.post(`{"id":"xy"}`)
	c.want(413)
	c.ended()
}
