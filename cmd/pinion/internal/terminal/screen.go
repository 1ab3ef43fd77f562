package terminal

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"pinion/runtime/logtext"
)

// Screen is stderr with a line of progress at its end, on a terminal.
type Screen struct {
	mu    sync.Mutex
	w     io.Writer
	fd    int
	live  bool // there is a terminal, and it may be drawn on
	label string
	began time.Time
	turn  int // of the spinner
	drawn bool
	draft []byte        // the model's line that has not ended, which is shown within the progress
	stop  chan struct{} // closed: no progress; nil if none is shown
	open  bool          // the command's output is at the end of a line that has not ended
	done  atomic.Uint64 // the bits of the share that the model has recorded as its progress; 0 means none
}

const (
	spinnerPause = 100 * time.Millisecond
	// EraseLine goes back to the begin of the terminal's line and erases it.
	EraseLine = "\r\x1b[K"
)

func NewScreen(f *os.File) *Screen {
	return &Screen{w: f, fd: int(f.Fd()), live: TakesEscapes(f)}
}

// Show begins a phase: what happens, and for how long already.
func (s *Screen) Show(label string) {
	if !s.live {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.label, s.began = label, time.Now()
	if s.stop == nil {
		s.stop = make(chan struct{})
		go s.animate(s.stop)
	}
}

// Hide ends the progress; what is written from now on stands alone.
func (s *Screen) Hide() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hide()
}

func (s *Screen) hide() {
	if s.stop != nil {
		close(s.stop)
		s.stop = nil
	}
	s.erase()
}

// Output ends the progress and writes a part of the command's output.
func (s *Screen) Output(to io.Writer, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hide()
	_, _ = to.Write(text) // a terminal that is gone ends the command by its own signal
	s.open = text[len(text)-1] != '\n'
}

// EndOutput ends the last line of the output.
func (s *Screen) EndOutput(to io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		_, _ = to.Write([]byte("\n"))
		s.open = false
	}
}

// Draft shows a line that has not ended within the progress, until the next Write. Without progress nothing is drawn:
// the terminal has the command's output.
func (s *Screen) Draft(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop == nil {
		return
	}
	s.draft = append(s.draft[:0], line...)
	s.draw()
}

// Done says which share of the prediction is done, from 0 to 1. It never blocks.
func (s *Screen) Done(share float64) { s.done.Store(math.Float64bits(min(1, max(0, share)))) }

// bar is a share as a bar of 20 cells, and in percent.
func bar(share float64) string {
	full := int(math.Round(20 * share))
	return fmt.Sprintf(" %s%s %.0f %%", strings.Repeat("█", full), strings.Repeat("░", 20-full), 100*share)
}

// draw shows what happens, for how long already, and the model's line that has not ended, in one line. While a debugger
// has the terminal it shows nothing.
func (s *Screen) draw() {
	if front, err := unix.IoctlGetInt(s.fd, unix.TIOCGPGRP); err == nil && front != unix.Getpgrp() {
		s.drawn = false
		return
	}
	marks := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	line := fmt.Appendf(nil, "%c %s %.1f s", marks[s.turn%len(marks)], s.label, time.Since(s.began).Seconds())
	if done := math.Float64frombits(s.done.Load()); done > 0 {
		line = append(line, bar(done)...)
	}
	if len(s.draft) > 0 {
		line = append(append(line, ": "...), s.draft...)
	}
	_, _ = s.w.Write(AppendClipped([]byte(EraseLine), line))
	s.drawn = true
}

func (s *Screen) animate(stop chan struct{}) {
	tick := time.NewTicker(spinnerPause)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		if s.stop == stop {
			s.turn++
			s.draw()
		}
		s.mu.Unlock()
	}
}

// Write writes above the progress, or below the output that has come.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	if s.live && s.open {
		_, _ = io.WriteString(s.w, "\n")
		s.open = false
	}
	return s.w.Write(p)
}

func (s *Screen) erase() {
	if s.drawn {
		_, _ = io.WriteString(s.w, EraseLine)
		s.drawn, s.draft = false, s.draft[:0]
	}
}

// modelLog is a log that lets through what the model wrote, as it wrote it, and faults of ours that nothing
// else tells of. It implements slog.Handler.
type modelLog struct{ w *Screen }

func NewModelLog(w *Screen) *slog.Logger { return slog.New(modelLog{w}) }

func (h modelLog) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || level == logtext.LevelDraft && h.w.live
}

func (h modelLog) Handle(_ context.Context, r slog.Record) error {
	if r.Level == logtext.LevelDraft {
		h.w.Draft([]byte(r.Message))
		return nil
	}
	stream, worker := false, false
	r.Attrs(func(a slog.Attr) bool {
		stream = stream || a.Key == "stream"
		worker = worker || a.Key == "worker"
		return true
	})
	switch {
	case stream:
		_, err := io.WriteString(h.w, r.Message+"\n")
		return err
	case r.Level >= slog.LevelError && !worker: // a worker's end is the prediction's error
		_, err := fmt.Fprintf(h.w, "pinion: %s\n", r.Message)
		return err
	}
	return nil
}

func (h modelLog) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h modelLog) WithGroup(string) slog.Handler      { return h }

// AppendClipped appends a line that the terminal cuts at its edge instead of wrapping it, so that EraseLine erases all
// of it.
func AppendClipped(dst, line []byte) []byte {
	dst = append(append(dst, "\x1b[?7l"...), line...)
	return append(dst, "\x1b[?7h"...)
}

func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
