package harness

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// Line is one event of the server's log.
type Line struct {
	Level          string `json:"level"`
	Text           string `json:"msg"`
	Address        string `json:"address"`
	MetricsAddress string `json:"metrics_address"`
	GRPCAddress    string `json:"grpc_address"`
	PredictionID   string `json:"prediction_id"`
	Stream         string `json:"stream"`
	Cause          string `json:"cause"`
	Raw            string `json:"-"`
	broken         bool   // not JSON: the front wrote something that is not a log line
}

// Log collects what a server writes to stderr and stdout.
type Log struct {
	mu      sync.Mutex
	partial []byte
	lines   []Line
}

// Write is called by the command's copying goroutines.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := append(l.partial, p...)
	for {
		line, after, found := bytes.Cut(rest, []byte{'\n'})
		if !found {
			l.partial = append(l.partial[:0:0], rest...)
			return len(p), nil
		}
		l.add(string(line))
		rest = after
	}
}

func (l *Log) add(text string) {
	line := Line{Raw: text}
	line.broken = json.Unmarshal([]byte(text), &line) != nil
	line.Text = strings.TrimSuffix(line.Text, "\n") // one test checks whether it should be there
	// a model that floods its log is to fill this process's memory once, not twice
	if len(text) > longRaw {
		line.Raw = strings.Clone(text[:longRaw]) + "…"
	}
	l.lines = append(l.lines, line)
}

// longRaw is how much of a line is kept as it was written, in bytes.
const longRaw = 4 << 10

// Lines returns a copy of all lines so far.
func (l *Log) Lines() []Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Line(nil), l.lines...)
}

// Find returns the first line with this text.
func (l *Log) Find(text string) (Line, bool) {
	return l.First(func(line Line) bool { return line.Text == text })
}

// First returns the first line that fits.
func (l *Log) First(fits func(Line) bool) (Line, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if fits(line) {
			return line, true
		}
	}
	return Line{}, false
}

// Count returns how many lines have this text.
func (l *Log) Count(text string) int {
	n := 0
	for _, line := range l.Lines() {
		if line.Text == text {
			n++
		}
	}
	return n
}

// String returns everything that was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out strings.Builder
	for _, line := range l.lines {
		out.WriteString(line.Raw)
		out.WriteByte('\n')
	}
	out.Write(l.partial)
	return out.String()
}

// defect returns a line that only a defect of the server writes, or "". interrupted means that the server was not
// allowed to finish, garbled that its workers may have sent what the front does not understand.
func (l *Log) defect(interrupted, garbled bool) string {
	for _, line := range l.Lines() {
		if line.broken {
			return line.Raw
		}
		for _, text := range []string{
			"illegal worker state change", "panic in a request", "cannot take a prediction", "cannot encode an answer",
			lastMessages, "files not removed", "run folder not removed", "the model's schema cannot be used: ", unfinished,
		} {
			if interrupted && text == unfinished || garbled && text == lastMessages {
				continue
			}
			if line.Level != "INFO" && strings.Contains(line.Raw, text) {
				return line.Raw
			}
		}
	}
	return ""
}

const (
	unfinished   = "connections were closed with requests in flight"
	lastMessages = "the last messages of a worker cannot be used"
)

// WithoutBlockedLoop returns logs without the warning, and its stack, that an async model gets whose code blocks the
// loop for a second: on a busy machine any code does.
func WithoutBlockedLoop(logs string) string { return blockedLoop.ReplaceAllString(logs, "") }

var blockedLoop = regexp.MustCompile(`Warning: async code has blocked the event loop.*\n(?:  .*\n)*`)
