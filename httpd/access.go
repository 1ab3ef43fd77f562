package httpd

import (
	"bytes"
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

	"pinion/runtime/logtext"
)

// access logs requests, up to a rate. Beyond it lines are left out evenly, and the next line says how many. A request
// without a line costs one clock read and two atomic operations.
type access struct {
	log   *slog.Logger
	text  bool          // for people
	quiet bool          // probes are not logged
	every time.Duration // average time between two lines
	begun time.Time     // the zero of next, by the monotonic clock

	next atomic.Int64 // when the next line would be due if lines were evenly spread
	left atomic.Int64 // requests since the last line that were left out
}

// burst is how much of the rate may be used at once.
const burst = time.Second

// newAccess returns the log that the options describe, or nil.
func newAccess(o Options) *access {
	if o.AccessLines <= 0 {
		return nil
	}
	a := &access{
		log: o.Logger, text: o.AccessText, quiet: !o.AccessProbes,
		every: max(1, time.Second/time.Duration(o.AccessLines)), begun: time.Now(),
	}
	a.next.Store(-int64(burst)) // so that the first second may burst too
	return a
}

// admits reports whether a request now gets a line. It is the generic cell rate algorithm of ATM.
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

// idKey is the key of the prediction's id in a request's context.
type idKey struct{}

// note writes a line. The line has nothing that may be secret: no query, no header, no body.
func (a *access) note(ctx *fasthttp.RequestCtx, took time.Duration) {
	if a.quiet && isProbe(ctx.Path()) || !a.admits(time.Since(a.begun)) {
		return
	}
	method, path, status := methodName(ctx.Method()), logtext.Clip(string(ctx.Path())), ctx.Response.StatusCode()
	message := "request"
	attrs := make([]slog.Attr, 0, 8)
	if a.text {
		message = fmt.Sprintf("%s %s %d %s", method, onTerminal(path), status, rounded(took))
	} else {
		attrs = append(attrs, slog.String("method", method), slog.String("path", path), slog.Int("status", status),
			slog.Float64("seconds", took.Seconds()))
		if host, _, err := net.SplitHostPort(ctx.RemoteAddr().String()); err == nil { // a unix socket's client has no address
			attrs = append(attrs, slog.String("client", host))
		}
	}
	if id, ok := ctx.UserValue(idKey{}).(string); ok {
		attrs = append(attrs, slog.String("prediction_id", logtext.Clip(id)))
	}
	if id := requestID(ctx); id != nil {
		attrs = append(attrs, slog.String("request_id", string(id)))
	}
	if left := a.left.Swap(0); left > 0 {
		attrs = append(attrs, slog.Int64("left_out", left))
	}
	a.log.LogAttrs(context.Background(), slog.LevelInfo, message, attrs...)
}

// isProbe reports whether a path is a probe or metrics, of the server or of a model.
func isProbe(path []byte) bool {
	if rest, ok := bytes.CutPrefix(path, []byte(pathModels+"/")); ok {
		if at := bytes.LastIndexByte(rest, '/'); at >= 0 { // a name may have slashes, and no probe does
			path = rest[at:]
		}
	}
	switch string(path) {
	case "/livez", "/readyz", "/health-check", "/metrics":
		return true
	}
	return false
}

// onTerminal escapes a path for a terminal: a client must not write control sequences there.
func onTerminal(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return r == utf8.RuneError || r == ' ' || !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}

// rounded rounds a time to about three digits.
func rounded(d time.Duration) time.Duration {
	for unit := time.Second; unit > time.Microsecond; unit /= 10 {
		if d >= 10*unit {
			return d.Round(unit / 10)
		}
	}
	return d.Round(time.Microsecond)
}
