package process

import (
	"context"
	"log/slog"
	"os"
	"syscall"
	"time"
)

// Interrupts are the signals that end a command.
type Interrupts <-chan os.Signal

// Await waits until something is done; false means a SIGINT has come before.
func (s Interrupts) Await(done <-chan struct{}) bool {
	for {
		select {
		case <-done:
			return true
		case sig := <-s:
			if sig == syscall.SIGINT {
				return false
			}
		}
	}
}

// shutdowner is what answers requests.
type shutdowner interface {
	// Shutdown lets the requests in flight end, until ctx does.
	Shutdown(ctx context.Context) error
}

// DrainHTTP stops a server without workers: nothing more is taken in, and what is in flight may be answered within the
// grace. Then connections are closed. A SIGINT meanwhile ends everything at once, also after a SIGTERM: false.
func DrainHTTP(http shutdowner, grace time.Duration, s Interrupts, log *slog.Logger) bool {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if err := http.Shutdown(ctx); err != nil {
			log.Warn("connections were closed with requests in flight", "error", err)
		}
	}()
	ordered := s.Await(answered)
	if !ordered {
		log.Warn("interrupted again: ending at once")
	}
	return ordered
}
