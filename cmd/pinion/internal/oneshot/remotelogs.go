package oneshot

import (
	"sync"
	"sync/atomic"
	"time"
)

// pollPause is the time between two requests for the logs of a prediction without events: the server sends logs to
// webhooks as often.
const pollPause = 500 * time.Millisecond

// remoteLogs prints the logs of a prediction of a server, each part once. They come as events, or as the whole text
// each time.
type remoteLogs struct {
	print     func(text string)
	metric    func(event []byte)
	areEvents atomic.Bool

	mu      sync.Mutex
	printed int // bytes
}

// add prints the text of an event.
func (l *remoteLogs) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.printed += len(text)
	l.print(text)
}

// upTo prints what is new in the logs so far.
func (l *remoteLogs) upTo(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(text) > l.printed {
		l.print(text[l.printed:])
		l.printed = len(text)
	}
}
