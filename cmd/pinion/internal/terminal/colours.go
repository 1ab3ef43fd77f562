package terminal

import (
	"io"
	"os"
)

// Colours colours text for a terminal. The zero value leaves it as it is.
type Colours struct{ on bool }

// ColoursOf has colours where w is a terminal, unless NO_COLOR is set.
func ColoursOf(w io.Writer) Colours {
	f, ok := w.(*os.File)
	return Colours{ok && IsTerminal(f) && os.Getenv("NO_COLOR") == ""}
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
