package service

import (
	"errors"
	"strings"
	"testing"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// TestAttachments_FileThatComesTooLate: a server that has given up waiting for its clients refuses what they still
// send.
func TestAttachments_FileThatComesTooLate(t *testing.T) {
	h := ready(t, "good", 0, "")
	box := h.NewAttachments()
	defer box.Close()
	_, err := box.Add("a.txt", "text/plain", strings.NewReader("in time"))
	assert.NoError(t, err)
	assert.NoError(t, h.o.Files.Close())
	var refused *predict.NotReadyError
	_, err = box.Add("b.txt", "text/plain", strings.NewReader("late"))
	assert.True(t, errors.As(err, &refused) && refused.Reason == "The server is shutting down", "got %v, want a refusal", err)
}
