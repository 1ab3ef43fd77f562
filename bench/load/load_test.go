package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

func against(t *testing.T, answer http.HandlerFunc) load {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "http://")
	return load{
		client: &fasthttp.HostClient{Addr: address, MaxIdemponentCallAttempts: 1}, url: server.URL,
		expect: []byte("right"), connections: 1, length: 50 * time.Millisecond, drainLimit: time.Minute,
	}
}

// TestLoad_AnswersAreLookedAt counts right, wrong and refused answers apart.
func TestLoad_AnswersAreLookedAt(t *testing.T) {
	var n atomic.Int64
	l := against(t, func(w http.ResponseWriter, _ *http.Request) {
		switch n.Add(1) % 4 {
		case 0:
			_, _ = w.Write([]byte("all right"))
		case 1:
			w.WriteHeader(http.StatusConflict)
		case 2:
			_, _ = w.Write([]byte("something else"))
		case 3:
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	l.rate = 160 // 8 requests
	found := l.run(time.Now())
	if len(found.times) != 2 || found.refused != 2 || found.wrong != 4 || found.failed != 0 {
		t.Errorf("right %d, refused %d, wrong %d, failed %d of 8, want 2, 2, 4 and 0", len(found.times), found.refused,
			found.wrong, found.failed)
	}
}

// TestLoad_StallIsChargedToAllWhoWait holds the first answer back: the requests that were due meanwhile have waited
// too.
func TestLoad_StallIsChargedToAllWhoWait(t *testing.T) {
	const stall = 60 * time.Millisecond // longer than the load; no less may be measured, however slow the machine is
	var n atomic.Int64
	l := against(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) == 1 {
			time.Sleep(stall)
		}
		_, _ = w.Write([]byte("right"))
	})
	l.rate = 1000
	found := l.run(time.Now())
	if len(found.times) == 0 {
		t.Fatal("nothing was answered: got none, want at least one")
	}
	for _, took := range found.times {
		if least := stall - l.length; took < least {
			t.Fatalf("a request took %v, though it was due at least %v before the stall's end, want at least %v", took, least,
				least)
		}
	}
}

// TestLoad_ClosedLoopWaitsForItsAnswers has as many requests at once as connections, no more.
func TestLoad_ClosedLoopWaitsForItsAnswers(t *testing.T) {
	var now, most atomic.Int64
	l := against(t, func(w http.ResponseWriter, _ *http.Request) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		_, _ = w.Write([]byte("right"))
	})
	if found := l.run(time.Now()); len(found.times) == 0 || most.Load() != 1 {
		t.Errorf("%d answers, %d at once, want non-empty and 1", len(found.times), most.Load())
	}
}
