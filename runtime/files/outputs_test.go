package files

import (
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pinion/tests/assert"
)

func TestOutputs_AreFoundOrInlined(t *testing.T) {
	s, folder := inboxStore(t, Options{})
	o, err := s.NewOutputs("p")
	assert.NoError(t, err)
	mark := func(file string) string { return `"` + markPrefix + o.Token() + ":" + file + `"` }
	for file, content := range map[string]string{"0/a.png": "png", "1/ü": "%PDF-1.4"} {
		path := filepath.Join(o.Folder(), file)
		assert.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	assert.NoError(t, os.Symlink("/etc/passwd", filepath.Join(o.Folder(), "0", "link")))
	assert.NoError(t, syscall.Mkfifo(filepath.Join(o.Folder(), "0", "pipe"), 0o600))
	png := `"data:image/png;base64,` + base64.StdEncoding.EncodeToString([]byte("png")) + `"`
	pdf := `"data:application/pdf;base64,` + base64.StdEncoding.EncodeToString([]byte("%PDF-1.4")) + `"`
	for output, want := range map[string]struct{ name, kind, inline string }{
		mark("0/a.png"):                                 {"a.png", "image/png", png},
		" [ " + mark("1/ü") + " ]":                      {"ü", "application/pdf", " [ " + pdf + " ]"},
		"[" + mark("0/a.png") + ",1]":                   {"", "", "[" + png + ",1]"},
		"[[" + mark("0/a.png") + "]]":                   {"", "", "[[" + png + "]]"},
		`{"a":` + mark("0/a.png") + `}`:                 {"", "", `{"a":` + png + `}`},
		"[" + mark("0/a.png") + "," + mark("1/ü") + "]": {"", "", "[" + png + "," + pdf + "]"},
		`"pinion-file:00000000000000000000000000000000:0/a.png"`: {
			"", "",
			`"pinion-file:00000000000000000000000000000000:0/a.png"`,
		},
		mark("0/link"):           {"", "", ""},
		mark("0/pipe"):           {"", "", ""},
		mark("0/missing"):        {"", "", ""},
		mark("0/../1/ü"):         {"", "", ""},
		mark("../../etc/passwd"): {"", "", ""},
		`[]`:                     {"", "", `[]`},
	} {
		file, done := o.Only([]byte(output))
		switch {
		case file == nil && want.name != "",
			file != nil && (file.Name != want.name || file.Type != want.kind || file.Listed != (output[0] == ' ')):
			t.Errorf("%s: got %+v, want name %q, type %q, listed %t", output, file, want.name, want.kind, output[0] == ' ')
		case file != nil:
			content, err := io.ReadAll(io.NewSectionReader(file.Content, 0, 1<<20))
			assert.True(t, err == nil && int64(len(content)) == file.Size, "%s holds %q, %v, want %d", output, content, err, file.Size)
			done()
		}
		asked := 0
		room := func(bytes int) bool { asked += bytes; return true }
		if got, err := o.Inline([]byte(output), room); string(got) != want.inline || (err == nil) != (want.inline != "") {
			t.Errorf("%s becomes %s, %v, want %q and err == nil %t", output, got, err, want.inline, want.inline != "")
		}
		none := func(int) bool { return false }
		_, err := o.Inline([]byte(output), none)
		assert.False(t, asked > 0 && !errors.Is(err, ErrNoRoom), "%s without room for %d bytes: %v, want ErrNoRoom", output, asked, err)
	}
	o.Close()
	o.Close()
	got := left(t, folder)
	assert.True(t, len(got) == 0, "%q are left", got)
	s.Close()
	_, err = s.NewOutputs("p")
	assert.ErrorIs(t, "after the store's end", err, ErrClosed)
}
