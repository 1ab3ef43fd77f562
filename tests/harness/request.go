package harness

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"pinion/tests/assert"
)

// A Request is a prediction on its own connection.
type Request struct {
	Answer <-chan Answer
	conn   net.Conn
}

// Leave closes the connection without waiting for the answer.
func (v *Request) Leave() { v.conn.Close() }

// Request makes a prediction and returns once the server has it. To know that, it sends the same request twice: when
// one is refused because its id is in flight, the server has the other.
func (s *Server) Request(id string, input any) *Request {
	s.t.Helper()
	requests := [2]*Request{s.request(id, input), s.request(id, input)}
	var accepted *Request
	assert.Eventually(s.t, "the server has "+id, func() bool {
		for i, v := range requests {
			select {
			case a := <-v.Answer:
				assert.TrueNow(s.t, a.Code == http.StatusConflict,
					"%s is answered before it is known to be there: %s, want Code 409", id, a)
				accepted = requests[1-i]
				return true
			default:
			}
		}
		return false
	})
	return accepted
}

func (s *Server) request(id string, input any) *Request {
	s.t.Helper()
	body := assert.Must(json.Marshal(map[string]any{"id": id, "input": input}))(s.t)
	conn, answer := s.Dial(), make(chan Answer, 1)
	go func() {
		_, _ = fmt.Fprintf(conn, "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
			"Content-Length: %d\r\n\r\n%s", len(body), body) // a read that fails tells
		answer <- readAnswer(bufio.NewReader(conn))
	}()
	return &Request{Answer: answer, conn: conn}
}

// Raw sends bytes on its own connection and reads n answers.
func (s *Server) Raw(request string, n int) []Answer {
	s.t.Helper()
	conn := s.Dial()
	go func() { _, _ = io.WriteString(conn, request) }() // the answers tell whether it came
	reader := bufio.NewReader(conn)
	var answers []Answer
	for range n {
		a := readAnswer(reader)
		assert.NoError(s.t, a.Err, "read answer", len(answers))
		answers = append(answers, a)
	}
	return answers
}

// Dial returns a new connection, which is closed when the test ends.
func (s *Server) Dial() net.Conn {
	s.t.Helper()
	conn := assert.Must(net.Dial("tcp", strings.TrimPrefix(s.base, "http://")))(s.t)
	s.t.Cleanup(func() { conn.Close() })
	return conn
}

// Connection is a connection that stays open.
type Connection struct {
	conn   net.Conn
	reader *bufio.Reader
}

// Connect makes a connection that the server has accepted: it has answered one request on it.
func (s *Server) Connect() *Connection {
	s.t.Helper()
	conn := s.Dial()
	c := &Connection{conn, bufio.NewReader(conn)}
	_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	assert.NoError(s.t, err)
	a := readAnswer(c.reader)
	assert.TrueNow(s.t, a.Code == http.StatusOK, "got %s, want Code 200", a)
	return c
}

// Send makes a prediction on the connection.
func (c *Connection) Send(body string) Answer {
	if _, err := fmt.Fprintf(c.conn, "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		return Answer{Err: err}
	}
	return readAnswer(c.reader)
}
