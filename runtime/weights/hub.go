package weights

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"pinion/runtime/egress"
)

// hub is a repository of a Hugging Face hub, at a revision.
type hub struct {
	repo, revision string
	endpoint       *url.URL
	token          string
	cache          string // where huggingface_hub keeps the repository, or ""
}

func (s Source) isHub() bool { return slices.Contains([]string{"hf", "huggingface"}, s.scheme()) }

// hubRepo returns the repository and the revision of a source, or false.
func hubRepo(uri string) (repo, revision string, is bool) {
	_, rest, _ := strings.Cut(uri, "://")
	repo, revision, pinned := strings.Cut(rest, "@")
	word := `[A-Za-z0-9_][A-Za-z0-9._-]*`
	is = regexp.MustCompile(`^`+word+`(/`+word+`)?$`).MatchString(repo) && (!pinned || checkPath(revision) == nil)
	return repo, cmp.Or(revision, "main"), is
}

// hub returns how the repository of a source is asked, by the environment that huggingface_hub has too.
func (f *fetcher) hub(s *Source) (h hub, err error) {
	env := f.o.Env
	h.repo, h.revision, _ = hubRepo(s.URI)
	h.revision = cmp.Or(s.commit, h.revision)
	if h.endpoint, err = url.Parse(cmp.Or(env("HF_ENDPOINT"), "https://huggingface.co")); err != nil ||
		!egress.Sendable(h.endpoint) {
		return h, errors.New("HF_ENDPOINT is no URL of a server, as https://huggingface.co")
	}
	h.endpoint.Path = cmp.Or(h.endpoint.Path, "/") // JoinPath would make a relative path
	h.token = cmp.Or(env("HF_TOKEN"), env("HUGGING_FACE_HUB_TOKEN"))
	root := env("HF_HUB_CACHE")
	for _, of := range [][2]string{
		{"HF_HOME", "hub"}, {"XDG_CACHE_HOME", "huggingface/hub"}, {"HOME", ".cache/huggingface/hub"},
	} {
		if above := env(of[0]); root == "" && above != "" {
			root = filepath.Join(above, of[1])
		}
	}
	if root != "" {
		h.cache = filepath.Join(root, "models--"+strings.ReplaceAll(h.repo, "/", "--"))
	}
	return h, nil
}

// isOffline reports whether the environment forbids to ask a hub.
func (f *fetcher) isOffline() bool {
	return slices.Contains([]string{"1", "ON", "YES", "TRUE"}, strings.ToUpper(f.o.Env("HF_HUB_OFFLINE")))
}

var errOffline = errors.New("HF_HUB_OFFLINE is set, and the cache has not all of its files")

// isCommit reports whether a revision never changes.
func isCommit(revision string) bool {
	return len(revision) == 40 && strings.Trim(revision, "0123456789abcdef") == ""
}

// hubFile is an entry of the hub's list of a repository.
type hubFile struct {
	Type string `json:"type"`
	Path string `json:"path"`
	Size int64  `json:"size"`
	LFS  *struct {
		OID  string `json:"oid"` // SHA-256
		Size int64  `json:"size"`
	} `json:"lfs"`
}

// listHub asks a hub which files a repository has. Those of Git LFS have their SHA-256 there.
func (f *fetcher) listHub(ctx context.Context, s *Source) (l listing, err error) {
	h, err := f.hub(s)
	if err != nil {
		return l, err
	}
	if f.isOffline() {
		return l, errOffline
	}
	api := h.endpoint.JoinPath("api/models", h.repo)
	commit := h.revision
	if !isCommit(commit) {
		var info struct {
			SHA string `json:"sha"`
		}
		u := api.JoinPath("revision", url.PathEscape(h.revision))
		if _, err := f.client.ask(ctx, s.shown(), u, h.token, &info); err != nil {
			return l, err
		}
		if commit = info.SHA; !isCommit(commit) {
			return l, fmt.Errorf("%s: the hub names no commit", s.shown())
		}
	}
	l.Fingerprint = "commit:" + commit
	next := api.JoinPath("tree", commit)
	next.RawQuery = "recursive=true"
	for next != nil {
		var page []hubFile
		if next, err = f.client.ask(ctx, s.shown(), next, h.token, &page); err != nil {
			return l, err
		}
		for _, file := range page {
			if file.Type == "file" {
				l.Files = append(l.Files, h.entry(file, commit))
			}
		}
	}
	return l, nil
}

// entry returns a file of the hub's list. If huggingface_hub has fetched it already, it is on this machine.
func (h hub) entry(file hubFile, commit string) entry {
	parts := strings.Split(file.Path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	e := entry{
		File: File{Path: file.Path, Size: file.Size}, Key: keyOf("hub", h.endpoint.String(), h.repo, commit, file.Path),
		object: &object{
			name: "hf://" + h.repo + "/" + file.Path, token: h.token, size: file.Size,
			url: h.endpoint.JoinPath(append([]string{h.repo, "resolve", commit}, parts...)...),
		},
	}
	if file.LFS != nil && IsSHA256(file.LFS.OID) {
		e.Size, e.Digest, e.object.size = file.LFS.Size, digestPrefix+file.LFS.OID, file.LFS.Size
		blob := filepath.Join(h.cache, "blobs", file.LFS.OID)
		if info, err := os.Stat(blob); h.cache != "" && err == nil && info.Mode().IsRegular() && info.Size() == e.Size {
			e.local = blob
		}
	}
	return e
}

// listSnapshot lists what huggingface_hub has in its cache.
func (f *fetcher) listSnapshot(s *Source) (l listing) {
	h, err := f.hub(s)
	if err != nil || h.cache == "" {
		return l
	}
	commit := h.revision
	if !isCommit(commit) {
		data, _ := os.ReadFile(filepath.Join(h.cache, "refs", filepath.FromSlash(h.revision)))
		if commit = strings.TrimSpace(string(data)); !isCommit(commit) {
			return l
		}
	}
	l.Fingerprint = "commit:" + commit
	folder := filepath.Join(h.cache, "snapshots", commit)
	_ = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		blob, err := filepath.EvalSymlinks(name)
		info, other := os.Stat(blob)
		below, _ := filepath.Rel(folder, name)
		if err != nil || other != nil || !info.Mode().IsRegular() || checkPath(filepath.ToSlash(below)) != nil {
			return nil
		}
		e := entry{File: File{Path: filepath.ToSlash(below), Size: info.Size()}, Key: localKey(blob, info), local: blob}
		if sum := filepath.Base(blob); IsSHA256(sum) {
			e.Digest = digestPrefix + sum
		}
		l.Files = append(l.Files, e)
		return nil
	})
	return l
}

const (
	// maxAnswer is how long an answer of a hub may be, in bytes.
	maxAnswer = 64 << 20
	// answerTimeout is how long it may take.
	answerTimeout = time.Minute
)

// ask gets a JSON document, and where its next page is, or nil.
func (c *client) ask(ctx context.Context, name string, u *url.URL, token string, into any) (next *url.URL, err error) {
	late := fmt.Errorf("ask %s: no answer within %s", name, answerTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, late)
	defer cancel()
	err = retried(ctx, func() (bool, error) {
		response, err := c.open(ctx, &object{name: name, url: u, token: token}, 0, -1)
		if status, is := errors.AsType[*egress.StatusError](err); is && status.Code >= 401 && status.Code <= 404 {
			return false, fmt.Errorf("%w: it does not exist, or is for others: HF_TOKEN names the token of who may read it", err)
		}
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		if err == nil {
			next, err = nextPage(response, u)
		}
		if err != nil {
			return false, fmt.Errorf("ask %s: %w", name, withoutURL(err))
		}
		if err := json.Unmarshal(data, into); err != nil {
			return false, fmt.Errorf("ask %s: %w: %w", name, egress.ErrAnswer, err)
		}
		return false, nil
	})
	return next, err
}

// nextPage returns the URL of the next page that an answer names. It is at the same server, which gets the token too.
func nextPage(response *http.Response, from *url.URL) (*url.URL, error) {
	for link := range strings.SplitSeq(response.Header.Get("Link"), ",") {
		target, rel, _ := strings.Cut(strings.TrimSpace(link), ";")
		if !strings.Contains(rel, `rel="next"`) {
			continue
		}
		next, err := from.Parse(strings.Trim(target, "<>"))
		if err != nil || next.Host != from.Host || next.Scheme != from.Scheme {
			return nil, fmt.Errorf("%w: its next page is at another server", egress.ErrAnswer)
		}
		return next, nil
	}
	return nil, nil
}
