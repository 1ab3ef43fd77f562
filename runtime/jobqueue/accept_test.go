package jobqueue

import (
	"errors"
	"log/slog"
	"testing"

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
		if err := m.refusal("id", errors.New(text)); !errors.As(err, &unavailable) || unavailable.Reason != want {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
