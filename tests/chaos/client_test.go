package chaos

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// timeout is how long a client waits before it gives up.
const timeout = 60 * time.Second

// pause is the time between two checks.
const pause = 5 * time.Millisecond

// perform sends a request and follows it to its end, or until its client leaves.
func (g *rig) perform(q request, waitsForHook bool) {
	g.journal.note(q.asked())
	if q.hook {
		g.mu.Lock()
		g.hooked[q.id] = false
		g.mu.Unlock()
	}
	if q.leave > 0 {
		g.sendAndLeave(q)
		return
	}
	a := g.send(q)
	switch {
	case a.Err != nil:
		g.note(entry{What: "broken", ID: q.id, Error: a.Err.Error()})
		return
	case a.Code != http.StatusAccepted:
		return
	}
	if q.cancel {
		g.journal.note(entry{What: "cancel", ID: q.id})
		g.s.Cancel(q.id)
	}
	if q.hook && waitsForHook {
		g.hooks.wait(q.id)
	}
	g.await(q.id)
}

// send sends a request and notes the answer.
func (g *rig) send(q request) harness.Answer {
	method, path := http.MethodPost, "/predictions"
	var header []string
	switch q.mode {
	case "put":
		method, path = http.MethodPut, "/predictions/"+q.id
	case "async":
		header = []string{"Prefer", "respond-async"}
	case "wait":
		header = []string{"Prefer", "wait=0"}
	case "stream":
		header = []string{"Accept", "text/event-stream"}
	}
	a := g.s.Do(method, path, q.body(g.hooks.url()), header...)
	if a.Err != nil {
		return a
	}
	if strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
		a.Prediction, a.Err = completed(a.Body)
		if a.Err != nil {
			return a
		}
	}
	g.note(observed("answer", q.id, a.Code, a.Prediction))
	return a
}

// completed returns the prediction of a stream's last event.
func completed(stream []byte) (p harness.Prediction, err error) {
	_, last, found := bytes.Cut(stream, []byte("event: completed\ndata: "))
	if !found {
		return p, fmt.Errorf("the stream breaks off: …%s", stream[max(0, len(stream)-300):])
	}
	line, _, _ := bytes.Cut(last, []byte{'\n'})
	return p, json.Unmarshal(line, &p)
}

// sendAndLeave sends a request on its own connection, and disconnects.
func (g *rig) sendAndLeave(q request) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.s.Address, "http://"))
	if err != nil {
		g.note(entry{What: "broken", ID: q.id, Error: err.Error()})
		return
	}
	body := q.body(g.hooks.url())
	head := "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	if q.mode == "stream" {
		head += "Accept: text/event-stream\r\n"
	}
	g.journal.note(entry{What: "left", ID: q.id}) // from here on it may
	_, err = fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
	if n := q.leave - 2; n > 0 && err == nil {
		_, _ = io.CopyN(io.Discard, bufio.NewReaderSize(conn, 16), int64(n)) // it is gone in any case
	}
	conn.Close()
}

// lookBack reads the state of a prediction whose client has left. The request may not have reached the server at all:
// then the state is read again at the end.
func (g *rig) lookBack(id string) {
	if a := g.s.Do(http.MethodGet, "/predictions/"+id, nil); a.Err == nil && a.Code == http.StatusOK {
		g.await(id)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unresolved = append(g.unresolved, id)
}

// await asks for a prediction until it has ended, and notes the last answer.
func (g *rig) await(id string) {
	var a harness.Answer
	err := until(func() bool {
		a = g.s.Do(http.MethodGet, "/predictions/"+id, nil)
		return a.Err != nil || a.Code != http.StatusOK || isFinal(a.Status)
	})
	if err == nil {
		err = a.Err
	}
	if err != nil {
		g.note(entry{What: "broken", ID: id, Error: "it does not end: " + err.Error()})
		return
	}
	g.note(observed("look", id, a.Code, a.Prediction))
}

func isFinal(status string) bool {
	return status == "succeeded" || status == "failed" || status == "canceled"
}

var errTimeout = errors.New("it was waited for long enough")

// until waits for a state, on any goroutine.
func until(reached func() bool) error {
	if !assert.Within(timeout, pause, reached) {
		return errTimeout
	}
	return nil
}
