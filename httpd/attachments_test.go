package httpd

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"pinion/runtime/request"
)

// fakeAttachments is the store of fake: files in a folder of the test.
type fakeAttachments struct {
	f      *fake
	dir    string
	mu     sync.Mutex
	names  []string // "name type" of each
	closed bool
}

func (f *fake) NewAttachments() request.Attachments {
	if f.attachError != nil {
		return failing{f.attachError}
	}
	dir, err := os.MkdirTemp("", "pinion-httpd-test-")
	if err != nil {
		panic(err)
	}
	t := &fakeAttachments{f: f, dir: dir}
	f.mu.Lock()
	f.attached = append(f.attached, t)
	f.mu.Unlock()
	return t
}

func (t *fakeAttachments) Add(name, mediaType string, from io.Reader) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.names)
	file, err := os.Create(filepath.Join(t.dir, strconv.Itoa(n)))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if _, err := io.Copy(file, from); err != nil {
		return 0, err
	}
	t.names = append(t.names, name+" "+mediaType)
	return n, nil
}

func (t *fakeAttachments) Path(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n < 0 || n >= len(t.names) {
		return ""
	}
	return filepath.Join(t.dir, strconv.Itoa(n))
}

func (t *fakeAttachments) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	os.RemoveAll(t.dir)
}

// open counts the stores that are not closed.
func (f *fake) open() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.attached {
		t.mu.Lock()
		if !t.closed {
			n++
		}
		t.mu.Unlock()
	}
	return n
}

// failing is a store that refuses every file.
type failing struct{ err error }

func (b failing) Add(string, string, io.Reader) (int, error) { return 0, b.err }
func (failing) Path(int) string                              { return "" }
func (failing) Close()                                       {}
