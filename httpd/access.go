package httpd

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"pinion/runtime/predict"
)

// access writes a line of the log for requests, at most so many a second: what is beyond is left out evenly, and the
// next line says how many that were. A request that is left out costs one look at the clock and two atomic operations.
type access struct {
	log   *slog.Logger
	text  bool          // for people
	quiet bool          // probes have no lines
	every time.Duration // between two lines, in the long run
	begun time.Time     // times count from here, by a clock that is never set

	next atomic.Int64 // when the line after the newest is due, were they evenly spread
	left atomic.Int64 // requests without a line since the last one
}

// burst is how much of the lines may come at once.
const burst = time.Second

// newAccess makes what the options want; nil: no lines are wanted.
func newAccess(o Options) *access {
	if o.AccessLines <= 0 {
		return nil
	}
	a := &access{
		log: o.Logger, text: o.AccessText, quiet: !o.AccessProbes,
		every: max(1, time.Second/time.Duration(o.AccessLines)), begun: time.Now(),
	}
	a.next.Store(-int64(burst)) // so that the first second has its burst too
	return a
}

// admits tells whether a request at this moment gets a line. It is the generic cell rate algorithm of ATM.
func (a *access) admits(now time.Duration) bool {
	for {
		next := a.next.Load()
		due := max(next, int64(now-burst+a.every))
		if due > int64(now) {
			a.left.Add(1)
			return false
		}
		if a.next.CompareAndSwap(next, due+int64(a.every)) {
			return true
		}
	}
}

// idKey is where a request's context has the id of the prediction that it made.
type idKey struct{}

// note writes a line. It has nothing of what may be secret: no query, no header, no body.
func (a *access) note(ctx *fasthttp.RequestCtx, took time.Duration) {
	if a.quiet && isProbe(ctx.Path()) || !a.admits(time.Since(a.begun)) {
		return
	}
	method, path, status := methodName(ctx.Method()), predict.Clip(string(ctx.Path())), ctx.Response.StatusCode()
	message := "request"
	attrs := make([]slog.Attr, 0, 8)
	if a.text {
		message = fmt.Sprintf("%s %s %d %s", method, onTerminal(path), status, rounded(took))
	} else {
		attrs = append(attrs, slog.String("method", method), slog.String("path", path), slog.Int("status", status),
			slog.Float64("seconds", took.Seconds()))
		if host, _, err := net.SplitHostPort(ctx.RemoteAddr().String()); err == nil { // a unix socket's client has none
			attrs = append(attrs, slog.String("client", host))
		}
	}
	if id, ok := ctx.UserValue(idKey{}).(string); ok {
		attrs = append(attrs, slog.String("prediction_id", predict.Clip(id)))
	}
	if id := requestID(ctx); id != nil {
		attrs = append(attrs, slog.String("request_id", string(id)))
	}
	if left := a.left.Swap(0); left > 0 {
		attrs = append(attrs, slog.Int64("left_out", left))
	}
	a.log.LogAttrs(context.Background(), slog.LevelInfo, message, attrs...)
}

// isProbe tells whether a path is asked by machines, again and again.
func isProbe(path []byte) bool {
	switch string(path) {
	case "/livez", "/readyz", "/health-check", "/metrics":
		return true
	}
	return false
}

// onTerminal is a path as a terminal may show it: a client must not be able to write control sequences there.
func onTerminal(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return r == utf8.RuneError || r == ' ' || !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}

// rounded is a time with about three digits.
func rounded(d time.Duration) time.Duration {
	for unit := time.Second; unit > time.Microsecond; unit /= 10 {
		if d >= 10*unit {
			return d.Round(unit / 10)
		}
	}
	return d.Round(time.Microsecond)
}
