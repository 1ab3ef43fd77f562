package harness

import (
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// logPipe is a pipe whose reader can stop: a server's log goes through it to a Log.
type logPipe struct {
	write *os.File
	ended chan struct{}
	mu    sync.Mutex // held while the reader is stopped
}

// newLogPipe makes one that holds a page, and begins to read it.
func newLogPipe(to io.Writer) (*logPipe, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	_, _ = unix.FcntlInt(write.Fd(), unix.F_SETPIPE_SZ, 4096) // else it takes longer to be full
	p := &logPipe{write: write, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		defer read.Close()
		piece := make([]byte, 4096)
		for {
			n, err := read.Read(piece)
			p.mu.Lock()
			_, _ = to.Write(piece[:n]) // a Log takes everything
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return p, nil
}

// wait waits for the last line, unless a process that outlives the server holds the pipe.
func (p *logPipe) wait() {
	select {
	case <-p.ended:
	case <-time.After(time.Second):
	}
}

// StopReading stops the reader of a server's log (Options.StopsReading) until the function that it returns is called.
func (s *Server) StopReading() (resume func()) {
	s.pipe.mu.Lock()
	return s.pipe.mu.Unlock
}
