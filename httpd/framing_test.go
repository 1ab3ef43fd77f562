package httpd

import (
	"testing"
	"time"

	"pinion/tests/assert"
)

// TestFraming_UnusualIsServed: requests that are unusual but unambiguous are served.
func TestFraming_UnusualIsServed(t *testing.T) {
	s := serve(t, newFake(), Options{})
	for _, raw := range []string{
		"\r\n\r\nGET /livez HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
		"GET /livez HTTP/1.1\r\nHost: x\r\nEmpty:\r\nTab:\ta\t\r\n\r\n",
		"POST /predictions HTTP/1.1\r\nHost: x\r\ntransfer-encoding: CHUNKED \r\n\r\n1;a=b;c=\"d\"\r\n{\r\n1\r\n}\r\n000\r\nA: b\r\n\r\n",
		"POST /predictions HTTP/1.1\r\nHost: x\r\ncontent-length:  2  \r\n\r\n{}",
		"GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
	} {
		client := s.dial(t)
		client.send(raw)
		client.want(200)
		client.send(raw + raw) // and the connection stays
		client.want(200)
		client.want(200)
		for _, b := range []byte(raw) { // and it may come in pieces
			client.send(string(b))
		}
		client.want(200)
	}
}

// TestFraming_ConnectionCloseInList: the option counts wherever it stands, and only for its own request and those
// behind it.
func TestFraming_ConnectionCloseInList(t *testing.T) {
	s := serve(t, newFake(), Options{})
	for _, header := range []string{
		"Connection: keep-alive, close", "Connection: Close", "connection: te ,\tclose",
		"Connection: close\r\nConnection: keep-alive",
	} {
		client := s.dial(t)
		last := "GET /livez HTTP/1.1\r\nHost: x\r\n" + header + "\r\n\r\n"
		client.send(ask("GET", "/livez", "", "") + last + "POST /shutdown HTTP/1.1\r\nHost: x\r\n\r\n")
		resp, _ := client.want(200)
		assert.False(t, resp.Close, "%s: the request before it is the last", header)
		resp, _ = client.want(200)
		assert.True(t, resp.Close, "%s: the answer does not say that it is the last", header)
		client.ended()
	}
}

// TestFraming_ChunkedBodyThatStallsIs408, as one with a length.
func TestFraming_ChunkedBodyThatStallsIs408(t *testing.T) {
	s := serve(t, newFake(), Options{HeaderTimeout: 20 * time.Millisecond})
	for _, part := range []string{
		"", "5", "5\r\n", "5\r\n{", "2\r\n{}", "2\r\n{}\r\n", "2\r\n{}\r\n0\r\n",
		"2\r\n{}\r\n0\r\nA: b\r\n",
	} {
		client := s.dial(t)
		client.send("POST /predictions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + part)
		client.want(408)
		client.ended()
	}
}
