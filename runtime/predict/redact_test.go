package predict

import (
	"testing"

	"pinion/tests/assert"
)

func TestRedact_HideCredentials(t *testing.T) {
	for text, want := range map[string]string{
		`"ftp://ann:secret@host/a?token=x"`: `"ftp://…@host/a?…"`,
		`"ftp://host/a"`:                    `"ftp://host/a"`,
		`"nourl"`:                           `"nourl"`,
		`"s3://key:pa@ss@host"`:             `"s3://…@host"`,
		`"file?name"`:                       `"file?…"`,
		"":                                  "",
	} {
		assert.Equal(t, text, RedactCredentials(text), want)
	}
}
