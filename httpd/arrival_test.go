package httpd

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// TestArrivals_SlowClientsGiveTheirMemoryBack: clients that announce a body and stop, in each form, or stop within a
// header, are cut when others need the memory, and nothing stays charged.
func TestArrivals_SlowClientsGiveTheirMemoryBack(t *testing.T) {
	const head = "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: "
	part := strings.Repeat(" ", 200<<10)
	noise := make([]byte, 200<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	zipped := squeeze("zstd", string(noise))
	for what, c := range map[string]struct {
		sent string
		many int
	}{
		"a body":       {head + fmt.Sprintf("application/json\r\nContent-Length: %d\r\n\r\n%s", 4*mib, part), 2},
		"a small body": {head + fmt.Sprintf("application/json\r\nContent-Length: %d\r\n\r\n%s", 60<<10, part[:20<<10]), 300},
		"a chunked body": {
			head + fmt.Sprintf("application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", 4*mib, part),
			60,
		},
		"a zstd body": {head + fmt.Sprintf("application/json\r\nContent-Encoding: zstd\r\nContent-Length: %d\r\n\r\n%s",
			len(zipped), zipped[:20<<10]), 2},
		"a form": {head + fmt.Sprintf(
			"multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"s\"\r\n\r\n%s", 4*mib, part), 60},
		"a half header":  {"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 30<<10), 400},
		"a short header": {"GET / HT", 400},
		"a MessagePack": {head + fmt.Sprintf(
			"application/msgpack\r\nContent-Length: %d\r\n\r\n\x81\xa5input\x81\xa1s\xdb\x00\x30\x00\x00%s", 4*mib, part), 60},
		"another request": {homeRequest + "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 30<<10), 400},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b, f := memory.New(16*mib), newFake()
			s := serve(t, f, Options{Memory: b})
			var clients []*client
			for range c.many {
				slow := s.dial(t)
				slow.send(c.sent)
				clients = append(clients, slow)
			}
			assert.Eventually(t, "they hold the memory", func() bool { return b.Stats().Used > 7*mib })
			size := 3 * mib
			assert.Eventually(t, "a body is served", func() bool {
				slow := s.dial(t)
				slow.send(head + fmt.Sprintf("application/json\r\nContent-Length: %d\r\n\r\n%s{}", size,
					strings.Repeat(" ", size-2)))
				answer, err := http.ReadResponse(slow.br, nil)
				return err == nil && answer.StatusCode == http.StatusOK
			})
			b.Free(f.request().Charged) // the service does that
			got := b.Stats().Cut
			assert.True(t, got != 0, "got none cut, want some")
			for _, slow := range clients {
				slow.Close()
			}
			assert.Eventually(t, "nothing is charged", func() bool { return b.Stats().Used == 0 })
		})
	}
}

// TestChargeInUse_WaitingRequests: requests that wait for their answers are charged what their connections take, if
// many are open. Those without room are refused at once, other requests are answered, and all of it is given back.
func TestChargeInUse_WaitingRequests(t *testing.T) {
	const most, header = 8 * mib, 2000
	const post = "PUT /predictions/p%d HTTP/1.1\r\nHost: x\r\nX: %s\r\nContent-Type: application/json\r\n" +
		"Content-Length: 2\r\n\r\n{}"
	for _, c := range []struct {
		name      string
		parkAbove int
		clients   int
		charged   bool
	}{
		{"many connections", 10, 400, true},
		{"few connections", 1000, 400, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, f := memory.New(16*mib), newFake()
			f.hold, f.started = true, make(chan *predict.Prediction, c.clients)
			s := serve(t, f, Options{Memory: b, conns: transport.Options{ParkAbove: c.parkAbove}})
			clients := make([]*client, c.clients)
			for i := range clients {
				clients[i] = s.dial(t)
				clients[i].send(fmt.Sprintf(post, i, strings.Repeat("x", header)))
			}
			want := c.clients
			if c.charged {
				want = c.parkAbove + most/(transport.InUseCost+2*header)
			}
			assert.Eventually(t, "each runs or is refused", func() bool {
				return len(f.started)+int(b.Stats().Refusals) == c.clients
			})
			// Short headers beside the long one are charged too.
			got := len(f.started)
			assert.True(t, got <= want && got >= want*9/10, "got %d running, want about %d", got, want)
			if used := b.Stats().Used; (used > most*9/10) != c.charged || used > most {
				t.Errorf("got %d bytes charged, want charged: %v, at most %d", used, c.charged, most)
			}
			other := s.dial(t)
			other.send(homeRequest)
			other.want(http.StatusOK)
			refused := 0
			for len(f.started) > 0 {
				f.finish(<-f.started)
			}
			for _, waiting := range clients {
				answer := assert.Must(http.ReadResponse(waiting.br, nil))(t)
				if answer.StatusCode == http.StatusServiceUnavailable {
					assert.TrueNow(t, answer.Header.Get("Retry-After") != "",
						"got %v without Retry-After, want Retry-After non-empty", answer.Header)
					refused++
				}
			}
			assert.True(t, refused == int(b.Stats().Refusals), "got %d refused, want %d", refused, b.Stats().Refusals)
			assert.Eventually(t, "nothing is charged", func() bool { return b.Stats().Used == 0 })
		})
	}
}
