package supervise

import (
	"strings"

	"pinion/runtime/logtext"
)

// takeSetup claims what was written up to these positions for the setup.
func (l *logs) takeSetup(to [sources]uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setup.Add(joined(l.take("", to)))
}

// AddSetup adds to the setup's text.
func (l *logs) AddSetup(text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setup.Add(text)
}

// SetupText returns the setup's text, as JSON can hold it. If the setup runs, it includes what was read and not yet
// claimed.
func (l *logs) SetupText(runs bool) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var text logtext.Text
	text.Add(l.setup.Bytes())
	for i := 0; runs && i < len(l.text); i++ {
		text.Add(l.text[i].text)
	}
	return strings.ToValidUTF8(string(text.Bytes()), "\uFFFD")
}
