package httpd

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"pinion/runtime/predict"
)

// tray is the fake's inbox: files in a folder of the test's.
type tray struct {
	f     *fake
	dir   string
	mu    sync.Mutex
	names []string // "name type" of each
	gone  bool
}

func (f *fake) Inbox() predict.Inbox {
	if f.noInbox != nil {
		return failing{f.noInbox}
	}
	dir, err := os.MkdirTemp("", "pinion-httpd-test-")
	if err != nil {
		panic(err)
	}
	t := &tray{f: f, dir: dir}
	f.mu.Lock()
	f.trays = append(f.trays, t)
	f.mu.Unlock()
	return t
}

func (t *tray) Add(name, mediaType string, from io.Reader) (int, error) {
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

func (t *tray) Path(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n < 0 || n >= len(t.names) {
		return ""
	}
	return filepath.Join(t.dir, strconv.Itoa(n))
}

func (t *tray) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = true
	os.RemoveAll(t.dir)
}

// open are the inboxes that nobody has closed.
func (f *fake) open() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.trays {
		t.mu.Lock()
		if !t.gone {
			n++
		}
		t.mu.Unlock()
	}
	return n
}

// failing is an inbox that takes nothing.
type failing struct{ err error }

func (b failing) Add(string, string, io.Reader) (int, error) { return 0, b.err }
func (failing) Path(int) string                              { return "" }
func (failing) Close()                                       {}
