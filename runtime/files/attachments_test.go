package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

func inboxStore(t *testing.T, o Options) (*Store, string) {
	t.Helper()
	o.Root = t.TempDir()
	s := assert.Must(New(o))(t)
	t.Cleanup(func() { s.Close() })
	return s, s.folder.path
}

// left returns the names in a store's folder, except for its lock.
func left(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries := assert.Must(os.ReadDir(folder))(t)
	for _, e := range entries {
		if e.Name() != lockName {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestAttachments_InboxKeepsFilesUntilItIsClosed(t *testing.T) {
	s, folder := inboxStore(t, Options{})
	in := s.NewAttachments()
	got := left(t, folder)
	assert.True(t, len(got) == 0, "an empty attachments has made %q", got)
	for i, c := range []struct{ name, kind, want string }{
		{"photo.png", "image/jpeg", "photo.png"},
		{"../../etc/passwd", "", "passwd"},
		{`C:\fakepath\ü b.txt`, "", "ü b.txt"},
		{"", "image/png", "file.png"},
		{"..", "audio/wav; x=1", "file"},
		{"noext", "image/webp", "noext"},
		{strings.Repeat("x", 400) + ".bin", "", strings.Repeat("x", maxName-4) + ".bin"},
		{"a\x00b\nc", "", "a_b_c"},
	} {
		content := bytes.Repeat([]byte{byte(i)}, 100_000*i)
		n := assert.Must(in.Add(c.name, c.kind, bytes.NewReader(content)))(t)
		assert.EqualNow(t, c.name+": n", n, i)
		got, err := os.ReadFile(in.Path(n))
		if err != nil || !bytes.Equal(got, content) || filepath.Base(in.Path(n)) != c.want {
			t.Errorf("%q lies in %s with %d bytes: %v, want %q and Base %q", c.name, in.Path(n), len(got), err, content, c.want)
		}
	}
	assert.Equal(t, "path of no input", in.Path(-1), "")
	assert.Equal(t, "path of an unknown input", in.Path(8), "")
	in.Close()
	in.Close()
	got = left(t, folder)
	assert.True(t, len(got) == 0, "%q are left", got)
}

func TestAttachments_InboxRefuses(t *testing.T) {
	s, folder := inboxStore(t, Options{MaxFile: 10, MaxFiles: 2})
	broken := errors.New("broken")
	in := s.NewAttachments()
	var limit *predict.FileLimitError
	if _, err := in.Add("big.bin", "", strings.NewReader("12345678901")); !errors.As(err, &limit) ||
		!strings.Contains(limit.Reason, `"big.bin"`) {
		t.Errorf("a big file: %v, want an error of type *predict.FileLimitError and Reason with %q", err, `"big.bin"`)
	}
	in.Close()
	in = s.NewAttachments()
	for range 2 {
		_, err := in.Add("", "", strings.NewReader("1234567890"))
		assert.NoError(t, err)
	}
	_, err := in.Add("", "", strings.NewReader(""))
	assert.True(t, errors.As(err, &limit), "a third file: %v, want an error of type *predict.FileLimitError", err)
	in.Close()
	for _, cause := range []error{broken, io.ErrUnexpectedEOF} {
		in := s.NewAttachments()
		_, err := in.Add("x", "", io.MultiReader(strings.NewReader("12"), iotest.ErrReader(cause)))
		assert.True(t, errors.Is(err, cause), "a client that breaks off with %v: %v, want the same", cause, err)
		in.Close()
	}
	got := left(t, folder)
	assert.True(t, len(got) == 0, "%q are left", got)
	in = s.NewAttachments()
	s.Close()
	_, err = in.Add("x", "", strings.NewReader(""))
	assert.ErrorIs(t, "after the store's end", err, ErrClosed)
	in.Close()
}

func TestAttachments_FetchTakesFilesThatAreThere(t *testing.T) {
	s, folder := inboxStore(t, Options{})
	input := `{"a":"X","b":"data:text/plain,hi"}`
	at := func(part string) (int, int) {
		i := strings.Index(input, part)
		return i, i + len(part)
	}
	a0, a1 := at(`"X"`)
	b0, b1 := at(`"data:text/plain,hi"`)
	there := predict.File{Field: "a", Start: a0, End: a1, Path: `/in/"0"/x.png`}
	got, cleanup, err := s.Fetch(context.Background(), "p",
		predict.Prepared{Input: []byte(input), Files: []predict.File{there}})
	assert.NoError(t, err)
	assert.EqualNow(t, "text", string(got), `{"a":"/in/\"0\"/x.png","b":"data:text/plain,hi"}`)
	cleanup()
	l := left(t, folder)
	assert.True(t, len(l) == 0, "%q were made for nothing", l)
	got, cleanup, err = s.Fetch(context.Background(), "p", predict.Prepared{
		Input: []byte(input),
		Files: []predict.File{there, {Field: "b", Start: b0, End: b1, URL: "data:text/plain,hi"}},
	})
	assert.TrueNow(t, err == nil && strings.HasPrefix(string(got), `{"a":"/in/\"0\"/x.png","b":"`+folder),
		"%s, %v, want it to start with %q", got, err, `{"a":"/in/\"0\"/x.png","b":"`+folder)
	cleanup()
}
