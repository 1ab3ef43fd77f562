package ports

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestTokenfile_ParseTokens: comments and blanks count for nothing, and no error shows what may be a secret.
func TestTokenfile_ParseTokens(t *testing.T) {
	got, err := parseTokens("# of the first client\n\nabc-._~+/=09  \r\n\t#x\nsecond")
	want := []string{"abc-._~+/=09", "second"}
	assert.True(t, err == nil && slices.Equal(got, want), "got %q, %v; want %q", got, err, want)
	for text, want := range map[string]string{
		"": "no token", "# nothing\n\n": "no token", "good\nse cret": "line 2", "sécret": "line 1", "secret\x00": "line 1",
		"Bearer secret": "line 1",
	} {
		got, err := parseTokens(text)
		assert.True(t, err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "cret"),
			"%q: got %q, %v; want %q", text, got, err, want)
	}
}

// TestTokenfile_Reload: a file that cannot be used any more leaves the tokens as they are.
func TestTokenfile_Reload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	write := func(text string, mode os.FileMode) {
		t.Helper()
		assert.NoError(t, errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)))
	}
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	if f, err := OpenTokenFile(path, log); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no file: got %v, %v, want an error that names it", f, err)
	}
	write("short\n", 0o644)
	f := assert.Must(OpenTokenFile(path, log))(t)
	for _, want := range []string{"open to other users", "short enough to be guessed", "tokens=1"} {
		assert.True(t, strings.Contains(said.String(), want) && !strings.Contains(said.String(), "=short"),
			"got the log %s, want %q and no token", said.String(), want)
	}
	for _, unusable := range []string{"", "two words"} {
		said.Reset()
		write(unusable, 0o600)
		if f.Reload(); !strings.Contains(said.String(), "those read before stay valid") {
			t.Errorf("%q: got the log %s, want that it is not used", unusable, said.String())
		}
	}
	said.Reset()
	write("a-long-enough-token\nanother-long-token\n", 0o600)
	if f.Reload(); !strings.Contains(said.String(), "tokens=2") || strings.Contains(said.String(), "WARN") {
		t.Errorf("got the log %s, want two tokens and no warning", said.String())
	}
	var none *TokenFile
	if none.Reload(); none.Tokens() != nil || f.Tokens() == nil {
		t.Errorf("got %v without a file and %v with one, want nil and tokens", none.Tokens(), f.Tokens())
	}
}
