package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// onDisk are attached files by their numbers.
type onDisk []string

func (f onDisk) Path(number int) string {
	if number < len(f) {
		return f[number]
	}
	return ""
}

func (f onDisk) Close() {}

// TestJobInput_IsChargedWhileItLives, and refused before it is made where it does not fit.
func TestJobInput_IsChargedWhileItLives(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.txt")
	assert.NoError(t, os.WriteFile(path, []byte(strings.Repeat("a", 3<<20)), 0o600))
	input := append(predict.AppendPlaceholder([]byte(`{"a":`), 0, "a.txt"), '}')
	req := &predict.Request{Input: input, Attachments: onDisk{path}}
	budget := memory.New(16 << 20)
	in, err := newJobInput(req, budget)
	assert.NoError(t, err)
	want := `{"input":{"a":"data:text/plain;base64,` + strings.Repeat("YWFh", 1<<20) + `"}}`
	assert.True(t, string(in.body) == want && string(in.input()) == want[len(beforeInput):len(want)-1],
		"got %.80s… of %d bytes, want %.80s… of %d", in.body, len(in.body), want, len(want))
	used := budget.Stats().Used
	assert.True(t, used >= 4<<20 && used <= 5<<20, "got %d bytes charged, want 4 MiB", used)
	in.release()
	assert.Equal(t, "bytes charged at the end", budget.Stats().Used, 0)
	budget.Take(14<<20, 14<<20)
	_, err = newJobInput(req, budget)
	assert.True(t, errors.Is(err, memory.ErrFull), "got %v, want %v", err, memory.ErrFull)
	assert.NoError(t, os.Truncate(path, 1<<30))
	_, err = newJobInput(req, budget)
	assert.True(t, errors.Is(err, memory.ErrTooLarge), "got %v, want %v", err, memory.ErrTooLarge)
}
