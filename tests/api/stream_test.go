package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// subscriber is a client of a stream, on its own connection.
type subscriber struct {
	conn   net.Conn
	answer *http.Response
	lines  *bufio.Reader
}

// subscribe asks for the stream of a prediction, and takes nothing of it but its header.
func subscribe(t *testing.T, s *harness.Server, id, body string, receiveBuffer int) *subscriber {
	t.Helper()
	conn := s.Dial()
	if receiveBuffer > 0 {
		assert.NoError(t, conn.(*net.TCPConn).SetReadBuffer(receiveBuffer))
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // one that hangs fails its test
	fmt.Fprintf(conn, "PUT /predictions/%s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", id, len(body), body)
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	assert.NoError(t, err, "subscribe")
	return &subscriber{conn, answer, bufio.NewReader(answer.Body)}
}

// next is the next event; io.EOF after the last.
func (s *subscriber) next() (kind, data string, err error) {
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			kind = value
		case "data":
			return kind, value, nil
		}
	}
}

// rest reads to the end, and returns the last event and how many outputs came before it.
func (s *subscriber) rest() (kind, data string, outputs int, err error) {
	for {
		k, d, err := s.next()
		switch {
		case err == io.EOF:
			return kind, data, outputs, nil
		case err != nil:
			return kind, data, outputs, err
		case k == "output":
			outputs++
		}
		kind, data = k, d
	}
}

// TestStream_HasItsNumberOfSubscribersAndNoMore: 1024 follow one prediction, one more is refused, all get all.
func TestStream_HasItsNumberOfSubscribersAndNoMore(t *testing.T) {
	t.Parallel()
	const most = 1024
	s := harness.Ready(t, harness.Options{Model: "api/do.py:Stream"})
	open := harness.MakeFIFO(t, s.Dir, "gate")
	subscribers := []*subscriber{subscribe(t, s, "many", `{"input":{"do":["yield 1","wait gate","yield 2"]}}`, 0)}
	for range most - 1 {
		subscribers = append(subscribers, subscribe(t, s, "many", "{}", 0))
	}
	assert.Equal(t, "the code for one more", subscribe(t, s, "many", "{}", 0).answer.StatusCode,
		http.StatusTooManyRequests)
	subscribers[0].conn.Close() // its place is free, and the prediction goes on
	assert.Eventually(t, "another has its place", func() bool {
		reader := subscribe(t, s, "many", "{}", 0)
		subscribers[0] = reader
		return reader.answer.StatusCode == http.StatusOK
	})
	open()
	for i, reader := range subscribers {
		kind, data, outputs, err := reader.rest()
		assert.TrueNow(t, err == nil && kind == "completed" && outputs == 2 && strings.Contains(data, `"output":[1,2]`),
			"subscriber %d: %s %s after %d outputs, %v, want kind completed, outputs 2 and data with %q", i, kind, data, outputs,
			err, `"output":[1,2]`)
	}
}

// TestStream_SlowReaderDelaysNoOtherClient: subscribers that take nothing neither hold up the model nor the others, nor
// do they cost memory without bound; each learns how much it missed.
func TestStream_SlowReaderDelaysNoOtherClient(t *testing.T) {
	t.Parallel()
	const items, size, slow = 20_000, 1 << 10, 32
	s := harness.Ready(t, harness.Options{Model: "api/flood.py"})
	open := harness.MakeFIFO(t, s.Dir, "gate")
	resident := harness.Resident(t, s.PID)
	first := subscribe(t, s, "flood", fmt.Sprintf(`{"input":{"n":%d,"size":%d}}`, items, size), 0)
	var waiting []*subscriber
	for range slow {
		waiting = append(waiting, subscribe(t, s, "flood", "{}", 256<<10))
	}
	open()
	// The first reads as fast as it can. It may miss events too, where this machine is busy: what counts is that it
	// comes to an end while the others take nothing.
	kind, data, outputs, err := first.rest()
	assert.TrueNow(t, err == nil && (kind == "completed" || kind == "error"),
		"the reader: %s %.300s after %d outputs, %v, want completed or error", kind, data, outputs, err)
	assert.Eventually(t, "the model is through", func() bool {
		return s.Do(http.MethodGet, "/predictions/flood", nil).Status == "succeeded"
	})
	// Its whole output is kept, in a buffer that grew by doubling; a copy for each subscriber would be 640 MiB.
	if grown := harness.Resident(t, s.PID) - resident; grown > 256<<20 && !harness.Sanitized(t) {
		t.Errorf("the front grew by %d MiB, want at most %d", grown>>20, 256<<20)
	}
	lagged := 0
	for i, reader := range waiting {
		kind, data, outputs, err := reader.rest()
		assert.NoError(t, err, "slow subscriber", i)
		var missed struct {
			Error   string
			Skipped int
		}
		switch kind {
		case "error":
			lagged++
			assert.True(t, json.Unmarshal([]byte(data), &missed) == nil &&
				missed.Error == "SSE stream lagged; events were dropped" && missed.Skipped >= 1 &&
				missed.Skipped+outputs <= items+2,
				"slow subscriber %d is told %s after %d outputs, want that it lagged, and by how many of %d events", i, data,
				outputs, items+2)
		case "completed":
			assert.Equal(t, fmt.Sprintf("outputs of slow subscriber %d, who got no error", i), outputs, items)
		default:
			t.Errorf("slow subscriber %d ends with %s, want error or completed", i, kind)
		}
	}
	assert.True(t, lagged != 0, "no subscriber was too slow: the test is none: got %d, want anything but 0", lagged)
}
