package process

import (
	"log/slog"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd"
	"pinion/tests/assert"
)

// TestDrainHTTP_Ends: in order when what is in flight is answered, and when the grace is over; at once at a SIGINT, but
// not at another SIGTERM.
func TestDrainHTTP_Ends(t *testing.T) {
	for _, c := range []struct {
		name    string
		grace   time.Duration
		send    []os.Signal
		answers bool // the request in flight is answered
		want    bool
	}{
		{"answered", time.Hour, []os.Signal{syscall.SIGTERM}, true, true},
		{"grace is over", time.Nanosecond, nil, false, true},
		{"interrupted", time.Hour, []os.Signal{syscall.SIGTERM, syscall.SIGINT}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			entered, release := make(chan struct{}), make(chan struct{})
			s := httpd.NewJobs(nil, httpd.Options{Metrics: func(*fasthttp.RequestCtx) {
				close(entered)
				<-release
			}})
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			assert.NoError(t, err)
			go func() { _ = s.Serve(ln) }()
			answered := make(chan error, 1)
			go func() {
				resp, err := http.Get("http://" + ln.Addr().String() + "/metrics")
				if err == nil {
					resp.Body.Close()
				}
				answered <- err
			}()
			<-entered
			sent := make(chan os.Signal, len(c.send))
			for _, sig := range c.send {
				sent <- sig
			}
			if c.answers {
				close(release)
			}
			assert.Equal(t, "an end in order", DrainHTTP(s, c.grace, sent, slog.New(slog.DiscardHandler)), c.want)
			if !c.answers {
				close(release)
			}
			err = <-answered
			assert.True(t, err == nil, "the request in flight: got %v, want an answer", err)
		})
	}
}
