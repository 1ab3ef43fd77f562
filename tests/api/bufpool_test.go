package api

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"pinion/tests/harness"
)

// TestBufpool_LargeBodiesAreNotShared: memory for bodies is used again, so clients with large bodies must each get back
// what they sent. Some disconnect at once.
func TestBufpool_LargeBodiesAreNotShared(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "echo.py:text", Args: []string{"--queue", "64", "--workers", "2"}})
	const clients, rounds = 8, 25
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(client)))
			for round := range rounds {
				unit := fmt.Sprintf("client %d, round %d; ", client, round)
				text := strings.Repeat(unit, (1+random.IntN(3<<20))/len(unit)+1)
				if random.IntN(4) == 0 {
					leaveAtOnce(t, s, `{"input":{"text":"`+text+`"}}`)
					continue
				}
				a := s.Input(harness.Input{"text": text})
				if a.Status != "succeeded" {
					t.Errorf("client %d: %.300s, want Status succeeded", client, a)
					return
				}
				if want := []byte(`"` + text + `"`); !bytes.Equal(a.Output, want) {
					t.Errorf("client %d sent %d bytes of %q and got %d bytes: %.100q, want %q", client, len(want), unit, len(a.Output),
						a.Output, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

// leaveAtOnce sends a request and does not wait for its answer.
func leaveAtOnce(t testing.TB, s *harness.Server, body string) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.Address, "http://"))
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	const head = "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
	if _, err := fmt.Fprintf(conn, head, len(body), body); err != nil {
		t.Error(err)
	}
}
