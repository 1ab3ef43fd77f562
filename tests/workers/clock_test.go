package workers

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// jump has the server's processes see the time of day so far from the true one.
func jump(t *testing.T, s *harness.Server, by time.Duration) {
	t.Helper()
	err := s.Jump(by, nil)
	if errors.Is(err, harness.ErrNoClock) {
		t.Skip(err)
	}
	assert.NoError(t, err)
}

// TestClock_JumpOfClockIsSeen: what follows tests nothing if the server and its model see the true time all along.
func TestClock_JumpOfClockIsSeen(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "clock.py"})
	const near = 10 * time.Minute // an answer takes less
	for _, by := range []time.Duration{0, 24 * time.Hour, -90 * 24 * time.Hour, 0} {
		jump(t, s, by)
		want := time.Now().Add(by)
		a := s.Succeed(harness.Input{})
		for name, text := range map[string]string{
			"created": a.CreatedAt, "started": a.StartedAt,
			"completed": a.CompletedAt,
		} {
			at, err := time.Parse(time.RFC3339, text)
			assert.True(t, err == nil && at.Sub(want).Abs() <= near,
				"%v: it was %s %q (%v), want about %s", by, name, text, err, want)
		}
		var seen [5]float64
		a.Decode(t, &seen)
		for i, seconds := range seen[:4] {
			assert.True(t, math.Abs(seconds-float64(want.Unix())) <= near.Seconds(),
				"%v: way %d to ask tells %f, want about %d", by, i, seconds, want.Unix())
		}
		if own := monotonic(); math.Abs(seen[4]-own) > near.Seconds() {
			t.Errorf("%v: what measures durations tells %f, want about %f", by, seen[4], own)
		}
	}
}

// TestClock_JumpOfClockEndsNothing: limits of time are on one that runs and on those that wait, and the clock jumps
// beyond all of them and back again.
func TestClock_JumpOfClockEndsNothing(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		t.Run(fmt.Sprint(by), func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "clock.py", Args: []string{
				"--predict-timeout", "5m", "--hang-timeout", "5m", "--queue", "8", "--queue-timeout", "10m",
			}})
			worker := s.Worker()
			running := s.Request("running", harness.Input{"wait": true})
			s.WaitLog("begun")
			begun := time.Now()
			waiting := make(chan harness.Answer, 3)
			// A time of day says how long from now, by the clock as it is then.
			at := time.Now().Add(5 * time.Minute).UTC().Format(time.RFC3339)
			for _, header := range [][]string{nil, {"Pinion-Deadline", "300"}, {"Pinion-Deadline", at}} {
				go func() { waiting <- s.Create(map[string]any{"input": harness.Input{}}, header...) }()
			}
			assert.Eventually(t, "all wait", func() bool { return s.Health().Queue.Length == 3 })
			jump(t, s, by)
			late := s.Create(map[string]any{"input": harness.Input{}}, "Pinion-Deadline", "0.01") // and the others are looked at
			harness.WantCode(t, "one that may not wait", late, http.StatusRequestTimeout)
			least := time.Since(begun).Seconds()
			harness.WriteFile(t, filepath.Join(s.Dir, "open"), "")
			first := harness.Receive(t, running.Answer)
			received := []harness.Answer{first}
			for range 3 {
				received = append(received, harness.Receive(t, waiting))
			}
			most := time.Since(begun).Seconds() + 1
			for _, a := range received {
				took, ok := a.Metrics["predict_time"].(float64)
				assert.True(t, a.Code == http.StatusOK && a.Status == "succeeded" && ok && took >= 0 && took <= most,
					"got %s, want Code 200, Status succeeded, ok true and took 0 to %v", a, most)
			}
			took, _ := first.Metrics["predict_time"].(float64)
			assert.True(t, took >= least-1 && least >= 0.01,
				"it took %f s, it says, and more than %f s it did, want at least %v and at least 0.01", took, least, least-1)
			harness.SameWorker(t, s, worker)
		})
	}
}

// TestClock_JumpOfClockInQueue: the clock of the server that has a job jumps, and that of another one of the same
// queue, too. Nothing is lost, and nothing runs twice, for longer than a server may be silent.
func TestClock_JumpOfClockInQueue(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(fmt.Sprint(by), func(t *testing.T) {
			t.Parallel()
			nats := harness.StartNATS(t)
			a := harness.StartMember(t, nats.URL, harness.Options{})
			open := harness.MakeFIFO(t, a.Dir, "gate")
			harness.Enqueue(t, a, "runs", harness.Input{"gate": "gate", "token": "runs"})
			harness.WaitStatus(t, a, "runs", "processing")
			b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
			harness.Enqueue(t, a, "before", harness.Input{"token": "before"})
			harness.WaitStatus(t, a, "before", "succeeded")
			jump(t, a, by)
			jump(t, b, by)
			jumped := time.Now()
			harness.Enqueue(t, b, "after", harness.Input{"token": "after"})
			harness.WaitStatus(t, a, "after", "succeeded")
			for _, id := range []string{"before", "after"} {
				harness.WantStatus(t, id+" elsewhere", harness.StateOf(b, id), "succeeded")
			}
			assert.Eventually(t, "a silent server would have lost its job", func() bool {
				return time.Since(jumped) > 25*time.Second // --ack-wait, and the time that another server asks for it
			})
			harness.WantStatus(t, "the job that runs", harness.StateOf(b, "runs"), "processing")
			open()
			harness.WaitStatus(t, b, "runs", "succeeded")
			for _, token := range []string{"runs", "before", "after"} {
				assert.Equal(t, token+": its runs", harness.TimesRun(t, a, token), 1)
			}
		})
	}
}

// TestClock_JumpOfClockClosesNoConnection: there are so many that those that rest are parked, and after the jump the
// server has looked at all of them.
func TestClock_JumpOfClockClosesNoConnection(t *testing.T) {
	t.Parallel()
	const many = 400
	s := harness.Ready(t, harness.Options{Model: "clock.py"})
	jump(t, s, 0)
	var conns []net.Conn
	ask := func(conn net.Conn) {
		t.Helper()
		_, err := io.WriteString(conn, "GET /health-check HTTP/1.1\r\nHost: x\r\n\r\n")
		assert.NoError(t, err)
		answer := assert.Must(http.ReadResponse(bufio.NewReader(conn), nil))(t)
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("code %d, %v, want 200", answer.StatusCode, err)
		}
	}
	park := func() {
		t.Helper()
		for range many {
			conn := s.Dial()
			ask(conn)
			conns = append(conns, conn)
		}
		assert.Eventually(t, "all are parked, and have no goroutine", func() bool {
			found := goroutineCount.FindSubmatch(s.Do(http.MethodGet, "/metrics", nil).Body)
			assert.TrueNow(t, found != nil, "metrics do not tell of goroutines")
			n, err := strconv.Atoi(string(found[1]))
			return err == nil && n < many
		})
	}
	park()
	jump(t, s, 24*time.Hour)
	park()
	for _, conn := range conns {
		ask(conn)
	}
}

// goroutineCount is how many the front has.
var goroutineCount = regexp.MustCompile(`(?m)^go_goroutines ([0-9]+)$`)

// monotonic is what measures durations, in seconds: the same for all processes.
func monotonic() float64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // every Linux has it
	return float64(ts.Nano()) / 1e9
}
