package logsink

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/lmittmann/tint"
)

// newConsole makes the handler of a log that people read. A message of several lines, such as a traceback, is a block: the
// record's fields follow its first line.
func newConsole(w io.Writer, level slog.Level, colour bool) slog.Handler {
	block := &blockWriter{w: w}
	return blockHandler{tint.NewTextHandler(block, &tint.Options{Level: level, TimeFormat: "15:04:05.000", NoColor: !colour}), block}
}

// blockWriter adds the lines of a block to the line that tint makes, so that both are one write.
type blockWriter struct {
	w    io.Writer
	mu   sync.Mutex // held while a block is written
	rest string     // of the block; guarded by mu
}

func (b *blockWriter) Write(line []byte) (int, error) {
	if b.rest == "" {
		return b.w.Write(line)
	}
	if _, err := b.w.Write(append(bytes.Clone(line), b.rest...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

type blockHandler struct {
	slog.Handler
	block *blockWriter
}

func (h blockHandler) Handle(ctx context.Context, r slog.Record) error {
	h.block.mu.Lock()
	defer h.block.mu.Unlock()
	if first, rest, several := strings.Cut(r.Message, "\n"); several {
		h.block.rest = rest + "\n"
		defer func() { h.block.rest = "" }()
		short := slog.NewRecord(r.Time, r.Level, first, r.PC)
		r.Attrs(func(a slog.Attr) bool { short.AddAttrs(a); return true })
		r = short
	}
	return h.Handler.Handle(ctx, r)
}

func (h blockHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return blockHandler{h.Handler.WithAttrs(attrs), h.block}
}

func (h blockHandler) WithGroup(name string) slog.Handler {
	return blockHandler{h.Handler.WithGroup(name), h.block}
}
