package process

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// WatchInterrupts delivers the signals that end a command. SIGUSR1 belongs to the workers.
func WatchInterrupts(ignoreTerm bool) Interrupts {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if ignoreTerm {
		signal.Ignore(syscall.SIGTERM)
	}
	return signals
}

// InterruptRequests records the signals by which a user asks for the end. The zero value has none.
type InterruptRequests struct {
	first time.Time
	by    os.Signal // the first
}

// echo is how soon after the first a second signal counts as the same request: a launcher that has its own group
// interrupted passes the signal on besides.
const echo = 500 * time.Millisecond

func (r *InterruptRequests) Any() bool { return !r.first.IsZero() }

// Again records a signal, and reports whether it is a repeated one. A SIGINT after a SIGTERM is not an echo: launchers
// pass a SIGINT on as either, and a SIGTERM as it is.
func (r *InterruptRequests) Again(sig os.Signal) bool {
	if !r.Any() {
		r.first, r.by = time.Now(), sig
		return false
	}
	return r.by == syscall.SIGTERM && sig == syscall.SIGINT || time.Since(r.first) > echo
}
