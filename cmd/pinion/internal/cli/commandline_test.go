package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/model"
	"pinion/pyembed/locate"
	"pinion/tests/assert"
)

// TestPageAbout_IsThere: errors that advise something lead to a page of the documents, and to a heading of it.
func TestPageAbout_IsThere(t *testing.T) {
	for _, err := range []error{
		&locate.Error{Kind: locate.ErrNoPython}, &model.NoPredictorError{}, &model.ProblemsError{}, &config.FileError{},
	} {
		page, heading, _ := strings.Cut(pageAbout(fmt.Errorf("serve: %w", err)), "#")
		text, readErr := os.ReadFile(filepath.Join("../../../..", page))
		if readErr != nil {
			t.Errorf("%T: %v, want a page", err, readErr)
			continue
		}
		var headings []string
		for line := range strings.Lines(strings.ToLower(string(text))) {
			if strings.HasPrefix(line, "#") {
				name := strings.TrimSpace(strings.TrimLeft(line, "#"))
				headings = append(headings, strings.ReplaceAll(name, " ", "-"))
			}
		}
		assert.False(t, heading != "" && !strings.Contains("\n"+strings.Join(headings, "\n")+"\n", "\n"+heading+"\n"),
			"%T: got heading %q of %s, want one of %q", err, heading, page, headings)
	}
	assert.Equal(t, "another error: page", pageAbout(errors.New("another")), "")
}
