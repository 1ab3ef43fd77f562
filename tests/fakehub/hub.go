package fakehub

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Commit is the repository's only one.
const Commit = "0123456789abcdef0123456789abcdef01234567"

// Hub has the repository org/repo.
type Hub struct {
	URL   string
	Files map[string][]byte // by path; those that end with .bin or .safetensors are of Git LFS
	Token string            // that requests need, or ""
	Wrong string            // the path of the file that is sent in place of those of Git LFS, or ""

	Asked, Sent atomic.Int64 // requests, and bytes of files
	Leaked      atomic.Bool  // the other host has got a token

	store string
}

// New starts a hub.
func New(t *testing.T, files map[string][]byte) *Hub {
	h := &Hub{Files: files}
	start := func(handle http.HandlerFunc) string {
		server := httptest.NewServer(handle)
		t.Cleanup(server.Close)
		return server.URL
	}
	h.store = strings.Replace(start(h.serveStore), "127.0.0.1", "localhost", 1)
	h.URL = start(h.serve)
	return h
}

func (h *Hub) serveStore(w http.ResponseWriter, r *http.Request) {
	h.Leaked.Store(h.Leaked.Load() || r.Header.Get("Authorization") != "")
	data := h.Files[strings.TrimPrefix(r.URL.Path, "/")]
	h.send(w, r, data, SHA256(data))
}

func (h *Hub) send(w http.ResponseWriter, r *http.Request, data []byte, etag string) {
	w.Header().Set("ETag", strconv.Quote(etag))
	http.ServeContent(counting{w, &h.Sent}, r, "", time.Time{}, bytes.NewReader(data))
}

func (h *Hub) serve(w http.ResponseWriter, r *http.Request) {
	h.Asked.Add(1)
	if h.Token != "" && r.Header.Get("Authorization") != "Bearer "+h.Token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	const api = "/api/models/org/repo/"
	switch path, rest := r.URL.Path, strings.TrimPrefix(r.URL.Path, "/org/repo/resolve/"+Commit+"/"); {
	case path == api+"revision/main", path == api+"revision/"+Commit:
		siblings := []map[string]string{}
		for name := range h.Files {
			siblings = append(siblings, map[string]string{"rfilename": name})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "org/repo", "sha": Commit, "siblings": siblings})
	case path == api+"tree/"+Commit:
		h.tree(w, r)
	case rest != path && h.Files[rest] != nil:
		h.resolve(w, r, rest)
	default:
		http.NotFound(w, r)
	}
}

func (h *Hub) resolve(w http.ResponseWriter, r *http.Request, path string) {
	w.Header().Set("X-Repo-Commit", Commit)
	data := h.Files[path]
	if !isLFS(path) {
		h.send(w, r, data, gitOID(data))
		return
	}
	w.Header().Set("X-Linked-ETag", strconv.Quote(SHA256(data)))
	w.Header().Set("X-Linked-Size", strconv.Itoa(len(data)))
	http.Redirect(w, r, h.store+"/"+cmp.Or(h.Wrong, path), http.StatusFound)
}

// tree sends a page for each file.
func (h *Hub) tree(w http.ResponseWriter, r *http.Request) {
	after, path := r.URL.Query().Get("cursor"), ""
	for name := range h.Files {
		if name > after && (path == "" || name < path) {
			path = name
		}
	}
	if path == "" {
		fmt.Fprint(w, "[]")
		return
	}
	next := fmt.Sprintf("http://%s%s?recursive=true&cursor=%s", r.Host, r.URL.Path, url.QueryEscape(path))
	w.Header().Set("Link", "<"+next+`>; rel="next"`)
	data := h.Files[path]
	entry := map[string]any{"type": "file", "path": path, "size": len(data), "oid": gitOID(data)}
	if isLFS(path) {
		entry["lfs"] = map[string]any{"oid": SHA256(data), "size": len(data), "pointerSize": 130}
	}
	folder := map[string]any{"type": "directory", "path": "sub", "oid": Commit, "size": 0}
	_ = json.NewEncoder(w).Encode([]any{folder, entry})
}

func isLFS(path string) bool {
	return strings.HasSuffix(path, ".bin") || strings.HasSuffix(path, ".safetensors")
}

// SHA256 returns a file's digest, in hexadecimal digits.
func SHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func gitOID(data []byte) string {
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...))
	return hex.EncodeToString(sum[:])
}

type counting struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (w counting) Write(p []byte) (int, error) {
	w.bytes.Add(int64(len(p)))
	return w.ResponseWriter.Write(p)
}
