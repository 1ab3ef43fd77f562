package chaos

import (
	"bufio"
	"encoding/json"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// entry is a line of the journal; checker/journal.go says what it means.
type entry struct {
	At     int64           `json:"at"`
	What   string          `json:"what"`
	ID     string          `json:"id,omitempty"`
	Token  string          `json:"token,omitempty"`
	Mode   string          `json:"mode,omitempty"`
	Do     string          `json:"do,omitempty"`
	Pad    int             `json:"pad,omitempty"`
	Items  int             `json:"items,omitempty"`
	Says   bool            `json:"says,omitempty"`
	Hook   bool            `json:"hook,omitempty"`
	File   bool            `json:"file,omitempty"`
	Key    int             `json:"key,omitempty"`
	Batch  int             `json:"batch,omitempty"`
	Wait   float64         `json:"wait,omitempty"`
	Took   *float64        `json:"took,omitempty"`
	Code   int             `json:"code,omitempty"`
	Status string          `json:"status,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Length int             `json:"length,omitempty"`
	Head   string          `json:"head,omitempty"`
	Error  string          `json:"error,omitempty"`
	Logs   string          `json:"logs,omitempty"`
	Taken  bool            `json:"taken,omitempty"`
	PID    int             `json:"pid,omitempty"`
	How    string          `json:"how,omitempty"`
}

// longOutput is the size in bytes from which only the head of an output is kept.
const longOutput, headLength = 4096, 200

// observed makes an entry of what the server said of a prediction.
func observed(what, id string, code int, p harness.Prediction) entry {
	e := entry{What: what, ID: id, Code: code, Status: p.Status, Error: p.Error, Logs: p.Logs, Length: len(p.Output)}
	if size, ok := p.Metrics["batch_size"].(float64); ok {
		e.Batch = int(size)
	}
	if took, ok := p.Metrics["predict_time"].(float64); ok {
		e.Took = &took
	}
	if len(p.Output) > longOutput {
		e.Head = string(p.Output[:headLength])
	} else {
		e.Output = p.Output
	}
	return e
}

// journal is the file in which all clients write what they see, one entry after the other.
type journal struct {
	name string

	mu   sync.Mutex
	file *os.File
	out  *bufio.Writer
	err  error
}

func newJournal(t testing.TB, name string) *journal {
	t.Helper()
	file := assert.Must(os.Create(name))(t)
	return &journal{name: name, file: file, out: bufio.NewWriter(file)}
}

// note writes an entry. The time is that of the call.
func (j *journal) note(e entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.At = now()
	line, err := json.Marshal(e)
	if err == nil {
		_, err = j.out.Write(append(line, '\n'))
	}
	if err != nil && j.err == nil {
		j.err = err
	}
}

// close ends it.
func (j *journal) close(t testing.TB) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.out.Flush(); j.err == nil {
		j.err = err
	}
	if err := j.file.Close(); j.err == nil {
		j.err = err
	}
	assert.NoError(t, j.err, "write journal")
}

// now returns the monotonic clock, in nanoseconds: what Python's time.monotonic_ns() tells, too.
func now() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // every Linux has it
	return ts.Nano()
}
