package jobqueue

import (
	"errors"
	"log/slog"
	"testing"

	"pinion/tests/assert"

	"pinion/runtime/predict"
)

func TestRefusal_KeepsText(t *testing.T) {
	m := &Member{o: Options{Logger: slog.New(slog.DiscardHandler)}}
	for text, want := range map[string]string{
		"the job queue takes no requests now":     "The job queue takes no requests now",
		"open another connection: the file is no": "Open another connection: the file is no",
		"": "",
	} {
		var unavailable *predict.UnavailableError
		err := m.refusal("id", errors.New(text))
		assert.True(t, errors.As(err, &unavailable) && unavailable.Reason == want, "%q: got %v, want %q", text, err, want)
	}
}
