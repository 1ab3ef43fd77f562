package files

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"pinion/runtime/egress"
	"pinion/tests/assert"
)

// hang is a server that says when it is asked, and never answers.
func hang(t *testing.T) (server *httptest.Server, asked chan struct{}) {
	asked = make(chan struct{}, 100)
	server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return server, asked
}

func TestUpload_Stall(t *testing.T) {
	server, _ := hang(t)
	s := newStore(t, Options{Stall: 20 * time.Millisecond, Retries: 2})
	slept := instant(s)
	if _, err := s.Upload(t.Context(), Destination{Prefix: server.URL},
		writeFile(t, "f.txt", "c")); !errors.Is(err, ErrStalled) || len(*slept) != 2 {
		t.Errorf("%v after %d retries, want ErrStalled and 2", err, len(*slept))
	}
}

// TestUpload_Slow gives up on a server that takes less than the least rate, though it is never silent.
func TestUpload_Slow(t *testing.T) {
	server := serve(t, map[string]http.HandlerFunc{"/f.bin": func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}})
	s := newStore(t, Options{Stall: time.Second, MinRate: 1 << 40, Retries: -1})
	path := writeFile(t, "f.bin", "")
	if err := os.Truncate(path, 64<<30); err != nil { // of holes
		t.Fatal(err)
	}
	_, err := s.Upload(t.Context(), Destination{Prefix: server.URL}, path)
	assert.ErrorIs(t, "the error", err, ErrSlow)
}

func TestUpload_Timeout(t *testing.T) {
	server, _ := hang(t)
	s := newStore(t, Options{Timeout: 20 * time.Millisecond, Stall: -1})
	slept := instant(s)
	if _, err := s.Upload(t.Context(), Destination{Prefix: server.URL},
		writeFile(t, "f.txt", "c")); !errors.Is(err, ErrTimeout) || len(*slept) != 0 {
		t.Errorf("%v after %d retries, want ErrTimeout and 0", err, len(*slept))
	}
}

// TestUpload_Canceled checks that the end of its context ends an upload, while it is sent and while it waits.
func TestUpload_Canceled(t *testing.T) {
	server, asked := hang(t)
	reason := errors.New("the client left")
	s := newStore(t, Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(reason)
	}()
	_, err := s.Upload(ctx, Destination{Prefix: server.URL}, writeFile(t, "f.txt", "c"))
	assert.ErrorIs(t, "a canceled upload", err, reason)
	broken := newStorage(t, map[string]http.HandlerFunc{
		"/f.txt": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
	})
	ctx, cancel = context.WithCancelCause(t.Context())
	s.sleep = func(ctx context.Context, _ time.Duration, _ <-chan struct{}) {
		cancel(reason)
		egress.Sleep(ctx, time.Hour, nil)
	}
	if _, err := s.Upload(ctx, Destination{Prefix: broken.URL}, writeFile(t, "f.txt", "c")); !errors.Is(err, reason) ||
		len(broken.received()) != 1 {
		t.Error(err)
	}
}

func TestUpload_AtClose(t *testing.T) {
	server, asked := hang(t)
	s := newStore(t, Options{})
	ended := make(chan error)
	path := writeFile(t, "f.txt", "c")
	go func() {
		_, err := s.Upload(context.Background(), Destination{Prefix: server.URL}, path)
		ended <- err
	}()
	<-asked
	assert.ErrorIs(t, "s.Close", s.Close(), nil)
	assert.ErrorIs(t, "error at the end", <-ended, ErrClosed)
	_, err := s.Upload(t.Context(), Destination{Prefix: server.URL}, path)
	assert.ErrorIs(t, "after the end", err, ErrClosed)
}
