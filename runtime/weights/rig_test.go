package weights

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pinion/tests/assert"
)

// rig fetches weights of test servers into a cache of its own.
type rig struct {
	t      *testing.T
	cache  *Cache
	folder string
	env    func(string) string
	log    bytes.Buffer
	logMu  sync.Mutex
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, folder: t.TempDir(), env: func(string) string { return "" }}
	r.cache = assert.Must(OpenCache(filepath.Join(t.TempDir(), "cache")))(t)
	return r
}

func (r *rig) Write(p []byte) (int, error) {
	r.logMu.Lock()
	defer r.logMu.Unlock()
	return r.log.Write(p)
}

func (r *rig) logged() string {
	r.logMu.Lock()
	defer r.logMu.Unlock()
	return r.log.String()
}

func (r *rig) options() Options {
	return Options{
		Folder: r.folder, Cache: r.cache, Env: r.env, Log: slog.New(slog.NewTextHandler(r, nil)),
	}
}

func (r *rig) weight(name string, uris ...string) Weight {
	w := Weight{Name: name, Target: filepath.Join(r.folder, "weights", name), Line: 3}
	for _, uri := range uris {
		w.Sources = append(w.Sources, Source{URI: uri})
	}
	return w
}

// fetch fetches weights and waits until they are there.
func (r *rig) fetch(list ...Weight) error {
	run := Start(r.options(), list, func(*Weight, error) {})
	defer run.Close()
	<-run.Done()
	return run.Err()
}

// content returns bytes that are no repetition.
func content(size int) []byte {
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(data)
	return data
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// ranges serves data as servers of files do.
func ranges(w http.ResponseWriter, r *http.Request, data []byte, etag string) {
	if etag != "" {
		w.Header().Set("ETag", etag)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

func (r *rig) checkFile(want []byte, elements ...string) {
	r.t.Helper()
	name := filepath.Join(append([]string{r.folder, "weights"}, elements...)...)
	got, err := os.ReadFile(name)
	assert.True(r.t, err == nil && bytes.Equal(got, want), "%s: got %d bytes, %v, want %d", name, len(got), err, len(want))
}

// failsWith checks that an error has a text.
func failsWith(t *testing.T, err error, text string) {
	t.Helper()
	assert.TrueNow(t, err != nil, "got no error, want one with %q", text)
	assert.Contains(t, "error", err.Error(), text)
}
