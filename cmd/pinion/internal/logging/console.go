package logging

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"github.com/lmittmann/tint"

	"pinion/cmd/pinion/internal/terminal"
	"pinion/runtime/logtext"
)

// newConsole makes the handler of a log that people read. A message of several lines, such as a traceback, is a block:
// the record's fields follow its first line. draws means that the reader is a terminal, on which a draft is shown until
// the next record.
func newConsole(w io.Writer, level slog.Level, colour, draws bool) slog.Handler {
	block := &blockWriter{w: w, draws: draws}
	return blockHandler{tint.NewTextHandler(block,
		&tint.Options{Level: level, TimeFormat: "15:04:05.000", NoColor: !colour, ReplaceAttr: plainNumber}), block}
}

// plainNumber writes a number without an exponent: 0.000051, not 5.1e-05.
func plainNumber(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindFloat64 {
		a.Value = slog.StringValue(strconv.FormatFloat(a.Value.Float64(), 'f', -1, 64))
	}
	return a
}

// blockWriter adds the lines of a block to the line that tint makes, so that both are one write.
type blockWriter struct {
	w     io.Writer
	draws bool
	mu    sync.Mutex // held while a block is written; guards the rest
	rest  string     // of the block
	draft bool       // the record is one
	drawn bool       // a draft is at the end of the terminal
}

func (b *blockWriter) Write(line []byte) (int, error) {
	if b.rest == "" && !b.draft && !b.drawn {
		return b.w.Write(line)
	}
	var text []byte
	if b.drawn {
		text = append(text, terminal.EraseLine...)
	}
	if b.drawn = b.draft; b.draft {
		text = terminal.AppendClipped(text, bytes.TrimSuffix(line, []byte("\n")))
	} else {
		text = append(append(text, line...), b.rest...)
	}
	if _, err := b.w.Write(text); err != nil {
		return 0, err
	}
	return len(line), nil
}

type blockHandler struct {
	slog.Handler
	block *blockWriter
}

// Enabled implements slog.Handler.
func (h blockHandler) Enabled(ctx context.Context, level slog.Level) bool {
	if level == logtext.LevelDraft {
		return h.block.draws && h.Handler.Enabled(ctx, slog.LevelInfo)
	}
	return h.Handler.Enabled(ctx, level)
}

func (h blockHandler) Handle(ctx context.Context, r slog.Record) error {
	h.block.mu.Lock()
	defer h.block.mu.Unlock()
	if h.block.draft = r.Level == logtext.LevelDraft; h.block.draft {
		r.Level = slog.LevelInfo
	}
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
