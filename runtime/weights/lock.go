package weights

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// LockFile is the name of the lock in a model's folder.
const LockFile = "weights.lock"

// lockVersion is the only version of Cog's lock that is read and written.
const lockVersion = 1

// MaxLock is how long a lock may be, in bytes: enough for 100 000 files.
const MaxLock = 32 << 20

// Lock says which files the weights of a model are, in Cog's form.
type Lock struct {
	Version int `json:"version"`
	// EnvelopeFormat names how Cog has made the layers; "" has Cog's next import make them.
	EnvelopeFormat string   `json:"envelopeFormat"`
	Weights        []Locked `json:"weights"`
}

// Locked is one of the weights in a lock.
type Locked struct {
	Name           string         `json:"name"`
	Target         string         `json:"target"` // as cog.yaml has it
	Source         *LockedSource  `json:"source,omitempty"`
	Sources        []LockedSource `json:"sources,omitempty"` // instead of Source, if there are several
	Digest         string         `json:"digest"`            // of the manifest in a registry, or ""
	SetDigest      string         `json:"setDigest"`
	Size           int64          `json:"size"`           // of the files, in bytes
	SizeCompressed int64          `json:"sizeCompressed"` // of the layers
	Files          []LockedFile   `json:"files"`
	Layers         []LockedLayer  `json:"layers"`

	line     int  // of the lock
	orphaned bool // cog.yaml does not name it
}

// LockedSource is a source as it was when it was locked.
type LockedSource struct {
	URI         string    `json:"uri"`
	Fingerprint string    `json:"fingerprint"`
	Include     []string  `json:"include"`
	Exclude     []string  `json:"exclude"`
	ImportedAt  time.Time `json:"importedAt"`
}

// LockedFile is a file in a lock.
type LockedFile struct {
	File
	Layer string `json:"layer"` // the digest of the layer that has it, or ""
}

// LockedLayer is a layer of an image that has files of weights.
type LockedLayer struct {
	Digest           string `json:"digest"`
	MediaType        string `json:"mediaType"`
	Size             int64  `json:"size"`
	SizeUncompressed int64  `json:"sizeUncompressed"`
}

// LockError is a mistake in a lock.
type LockError struct {
	Line int
	What string
}

func (e *LockError) Error() string { return fmt.Sprintf("%s:%d: %s", LockFile, e.Line, e.What) }

// ParseLock reads a lock. The error is a LockError.
func ParseLock(data []byte) (*Lock, error) {
	lineAt := func(offset int64) int { return 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n")) }
	var l Lock
	if err := json.Unmarshal(data, &l); err != nil {
		offset := int64(0)
		if syntax, is := errors.AsType[*json.SyntaxError](err); is {
			offset = syntax.Offset
		} else if kind, is := errors.AsType[*json.UnmarshalTypeError](err); is {
			offset = kind.Offset
		}
		return nil, &LockError{lineAt(offset), strings.TrimPrefix(err.Error(), "json: ")}
	}
	if l.Version != lockVersion {
		return nil, &LockError{
			1, fmt.Sprintf("the lock has version %d, and this Pinion reads version %d", l.Version, lockVersion),
		}
	}
	at := int64(0)
	for i := range l.Weights {
		at = nextName(data, at)
		e := &l.Weights[i]
		e.line = lineAt(at)
		if what := e.mistake(); what != "" {
			return nil, &LockError{e.line, fmt.Sprintf("weights %.60q: %s", e.Name, what)}
		}
	}
	return &l, nil
}

// nextName returns where the next key name ends. Only weights have one.
func nextName(data []byte, at int64) int64 {
	key := []byte(`"name"`)
	for {
		found := bytes.Index(data[at:], key)
		if found < 0 {
			return at
		}
		at += int64(found + len(key))
		if bytes.HasPrefix(bytes.TrimLeft(data[at:], " \t\r\n"), []byte(":")) {
			return at
		}
	}
}

// mistake returns what is wrong with an entry.
func (e *Locked) mistake() string {
	if len(e.Files) == 0 {
		return "it has no files"
	}
	paths := map[string]bool{}
	for _, f := range e.Files {
		switch err := checkPath(f.Path); {
		case err != nil:
			return err.Error()
		case paths[f.Path]:
			return fmt.Sprintf("it has %q twice", f.Path)
		case !isDigest(f.Digest) || f.Size < 0:
			return fmt.Sprintf("%q has no size or no digest: a digest is sha256: and 64 lower-case hexadecimal digits", f.Path)
		}
		paths[f.Path] = true
	}
	if set := SetDigest(e.files()); e.SetDigest != set {
		return fmt.Sprintf("its setDigest is %.80q, and that of its files is %s", e.SetDigest, set)
	}
	return ""
}

func (e *Locked) files() []File {
	files := make([]File, len(e.Files))
	for i, f := range e.Files {
		files[i] = f.File
	}
	return files
}

// AllSources returns the sources of an entry.
func (e *Locked) AllSources() []LockedSource {
	if e.Source != nil {
		return []LockedSource{*e.Source}
	}
	return e.Sources
}

// Find returns the entry of a name, or nil.
func (l *Lock) Find(name string) *Locked {
	if l == nil {
		return nil
	}
	i := slices.IndexFunc(l.Weights, func(e Locked) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return &l.Weights[i]
}

// Orphans returns the entries that cog.yaml does not name, once they were compared.
func (l *Lock) Orphans() (list []Locked) {
	if l != nil {
		list = slices.DeleteFunc(slices.Clone(l.Weights), func(e Locked) bool { return !e.orphaned })
	}
	return list
}

// Compare says how the lock and cog.yaml differ: named are all names there, and list are the weights that are fetched.
// Those that agree get their entry.
func (l *Lock) Compare(named []string, list []Weight) (drift []LockError) {
	add := func(line int, format string, a ...any) {
		drift = append(drift, LockError{line, fmt.Sprintf(format, a...)})
	}
	for i := range list {
		w := &list[i]
		e := l.Find(w.Name)
		if e == nil {
			add(1, "it has no weights %s, which cog.yaml names in line %d", w.Name, w.Line)
			continue
		}
		if differs := e.differs(w); differs != "" {
			add(e.line, "it is of other weights %s than line %d of cog.yaml: %s", w.Name, w.Line, differs)
			continue
		}
		w.Lock = e
	}
	for i := range l.Weights {
		if e := &l.Weights[i]; !slices.Contains(named, e.Name) {
			e.orphaned = true
			add(e.line, "it has weights %.60q, which cog.yaml does not name", e.Name)
		}
	}
	return drift
}

// differs says what an entry has that its weights in cog.yaml have not; "" means nothing.
func (e *Locked) differs(w *Weight) string {
	was := e.AllSources()
	if path.Clean(e.Target) != path.Clean(w.Written) {
		return fmt.Sprintf("target %s, not %s", e.Target, w.Written)
	}
	if len(was) != len(w.Sources) {
		return fmt.Sprintf("%d sources, not %d", len(was), len(w.Sources))
	}
	for i := range was {
		now := lockedSource(&w.Sources[i], "", time.Time{})
		switch {
		case lockedURI(was[i].URI) != now.URI:
			return fmt.Sprintf("source %s, not %s", Source{URI: was[i].URI}.shown(), w.Sources[i].shown())
		case !slices.Equal(sorted(was[i].Include), now.Include):
			return fmt.Sprintf("include %q, not %q", was[i].Include, now.Include)
		case !slices.Equal(sorted(was[i].Exclude), now.Exclude):
			return fmt.Sprintf("exclude %q, not %q", was[i].Exclude, now.Exclude)
		}
	}
	return ""
}

func lockedSource(s *Source, fingerprint string, at time.Time) LockedSource {
	return LockedSource{lockedURI(s.URI), fingerprint, sorted(s.Include), sorted(s.Exclude), at}
}

// lockedURI returns a URI as Cog's lock has it: paths of this machine with a scheme, and the short scheme of the hub.
func lockedURI(uri string) string {
	if rest, is := strings.CutPrefix(uri, "huggingface://"); is {
		return "hf://" + rest
	}
	place, is := strings.CutPrefix(uri, "file://")
	switch {
	case !is && strings.Contains(uri, "://"):
		return uri
	case path.IsAbs(place):
		return "file://" + path.Clean(place)
	}
	return "file://./" + path.Clean(place)
}

func sorted(patterns []string) []string {
	return append([]string{}, slices.Sorted(slices.Values(patterns))...)
}

// locked returns the files of an entry, with where the sources have them. Files of the cache need no source.
func (e *Locked) locked(c *Cache, found map[string]planned) (files []planned, err error) {
	for _, f := range e.Files {
		has, is := found[f.Path]
		switch {
		case c.has(f.Digest, f.Size):
		case !is:
			err = fmt.Errorf("%s is not at its source", f.Path)
		case has.Size >= 0 && has.Size != f.Size:
			err = &wrongError{f.Path, "size", bytesText(f.Size), bytesText(has.Size), false}
		case has.Digest != "" && has.Digest != f.Digest:
			err = &wrongError{f.Path, "SHA-256", f.Digest, has.Digest, false}
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w; 'pinion weights lock' locks what the source has now", LockFile, e.line, err)
		}
		has.File = f.File
		files = append(files, has)
	}
	return files, nil
}

// lock returns the entry of weights that were found; the old one if it says the same.
func (p *plan) lock(old *Locked, now time.Time) Locked {
	e := Locked{Name: p.w.Name, Target: p.w.Written, Layers: []LockedLayer{}}
	files := make([]File, len(p.files))
	ofSource := map[*Source][]File{}
	for i := range p.files {
		f := p.files[i].File
		files[i] = f
		ofSource[p.files[i].source] = append(ofSource[p.files[i].source], f)
		e.Files, e.Size = append(e.Files, LockedFile{File: f}), e.Size+f.Size
	}
	e.SetDigest = SetDigest(files)
	for i := range p.w.Sources {
		s := &p.w.Sources[i]
		fingerprint := p.fingerprints[i]
		if fingerprint == "" {
			if fingerprint = SetDigest(ofSource[s]); s.scheme() != "file" && len(ofSource[s]) == 1 {
				fingerprint = ofSource[s][0].Digest
			}
		}
		e.Sources = append(e.Sources, lockedSource(s, fingerprint, now))
	}
	if len(e.Sources) == 1 {
		e.Source, e.Sources = &e.Sources[0], nil
	}
	same := func(a, b LockedSource) bool { return a.Fingerprint == b.Fingerprint }
	if old != nil && old.SetDigest == e.SetDigest && old.differs(p.w) == "" &&
		slices.EqualFunc(old.AllSources(), e.AllSources(), same) {
		return *old
	}
	return e
}

// Write writes a lock.
func (l *Lock) Write(name string) error {
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(name, append(data, '\n'))
}
