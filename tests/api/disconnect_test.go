package api

import (
	"fmt"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestDisconnect_ClientThatLeavesBehindMuch: one that has sent more behind its request than the sockets hold is
// noticed, and its prediction is canceled.
func TestDisconnect_ClientThatLeavesBehindMuch(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "api/do.py:Runner"})
	c := s.Dial()
	const body = `{"input":{"do":["sleep"]}}`
	_, err := fmt.Fprintf(c, "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	assert.NoError(t, err)
	s.WaitLog("sleeps")
	_, err = fmt.Fprint(c, strings.Repeat("x", 3<<20))
	assert.NoError(t, err)
	c.Close()
	s.WaitLog("woken by a cancel")
}
