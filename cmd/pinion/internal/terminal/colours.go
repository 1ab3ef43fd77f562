package terminal

import (
	"io"
	"os"
)

// Colours colours text for a terminal. The zero value leaves it as it is.
type Colours struct{ on bool }

// TakesEscapes tells whether a file is a terminal that may get colours and progress: NO_COLOR and TERM=dumb say no.
func TakesEscapes(f *os.File) bool {
	return IsTerminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// ColoursOf has colours where w is a terminal that takes them.
func ColoursOf(w io.Writer) Colours {
	f, ok := w.(*os.File)
	return Colours{ok && TakesEscapes(f)}
}

func (c Colours) Red(text string) string    { return c.paint("\x1b[91m", text) }
func (c Colours) Yellow(text string) string { return c.paint("\x1b[93m", text) }
func (c Colours) Green(text string) string  { return c.paint("\x1b[92m", text) }

func (c Colours) paint(begin, text string) string {
	if !c.on {
		return text
	}
	return begin + text + "\x1b[0m"
}
