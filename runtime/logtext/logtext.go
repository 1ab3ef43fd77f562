package logtext

import "fmt"

const (
	// Max is how much is kept of the logs of a prediction or a setup, in bytes.
	Max = 16 << 20
	// MaxLine is the length of the longest line, in bytes. The rest of a longer line is cut.
	MaxLine = 4 << 20
	// LineNotice ends a line that was cut.
	LineNotice = " [cut: the line is longer than 4 MiB]"
)

// Text keeps up to Max bytes of what is added to it, and counts the rest. The zero value is empty.
type Text struct {
	kept    []byte
	dropped int
}

// Add appends text as far as there is room.
func (t *Text) Add(text []byte) {
	kept := text[:min(len(text), Max-len(t.kept))]
	if t.dropped > 0 {
		kept = nil // what follows a gap would look like its end
	} else if len(kept) < len(text) {
		kept = Complete(kept)
	}
	t.kept = append(t.kept, kept...)
	t.dropped += len(text) - len(kept)
}

// Bytes returns what was kept, with a notice if something was dropped. It may share the memory of t.
func (t *Text) Bytes() []byte { return AppendNotice(t.kept, t.dropped) }

// AppendNotice appends the notice that so many bytes were dropped; 0 means none.
func AppendNotice(text []byte, dropped int) []byte {
	if dropped == 0 {
		return text
	}
	return fmt.Appendf(text, "\n[%d bytes of log were cut: %d MiB of it are kept]\n", dropped, Max>>20)
}
