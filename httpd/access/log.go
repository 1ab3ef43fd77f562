package access

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

// Log logs requests, up to a rate. Beyond it lines are left out evenly, and the next line says how many. A request
// without a line costs one clock read and two atomic operations.
type Log struct {
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

// NewLog returns a log of so many lines a second, with probes or without, and for people or not; nil if lines is 0.
func NewLog(log *slog.Logger, lines int, probes, text bool) *Log {
	if lines <= 0 {
		return nil
	}
	a := &Log{
		log: log, text: text, quiet: !probes, every: max(1, time.Second/time.Duration(lines)), begun: time.Now(),
	}
	a.next.Store(-int64(burst)) // so that the first second may burst too
	return a
}

// admits reports whether a request now gets a line. It is the generic cell rate algorithm of ATM.
func (a *Log) admits(now time.Duration) bool {
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

// Named notes the id of a request's prediction.
func (a *Log) Named(ctx *fasthttp.RequestCtx, id string) {
	if a != nil {
		ctx.SetUserValue(idKey{}, id)
	}
}

// Note writes a line. The line has nothing that may be secret: no query, no header, no body.
func (a *Log) Note(ctx *fasthttp.RequestCtx, took time.Duration) {
	if a.quiet && isProbe(ctx.Path()) || !a.admits(time.Since(a.begun)) {
		return
	}
	method, path, status := MethodName(ctx.Method()), logtext.Clip(string(ctx.Path())), ctx.Response.StatusCode()
	message := "request"
	attrs := make([]slog.Attr, 0, 8)
	if a.text {
		message = fmt.Sprintf("%s %s %d %s", method, onTerminal(path), status, Rounded(took))
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
	if rest, ok := bytes.CutPrefix(path, []byte("/models/")); ok {
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

// Rounded rounds a time to about three digits.
func Rounded(d time.Duration) time.Duration {
	for unit := time.Second; unit > time.Microsecond; unit /= 10 {
		if d >= 10*unit {
			return d.Round(unit / 10)
		}
	}
	return d.Round(time.Microsecond)
}

// MethodName returns one of a few constants, so that clients cannot create new label values.
func MethodName(method []byte) string {
	for _, known := range [...]string{
		fasthttp.MethodPost, fasthttp.MethodGet, fasthttp.MethodPut, fasthttp.MethodHead, fasthttp.MethodOptions,
		fasthttp.MethodDelete, fasthttp.MethodPatch,
	} {
		if string(method) == known {
			return known
		}
	}
	return "OTHER"
}
