package weights

import (
	"fmt"
	"os"
	"slices"
)

// State is the state of one of the weights, in Cog's words.
type State string

const (
	Ready      State = "ready"      // it is at its target
	Incomplete State = "incomplete" // a part of it is
	Stale      State = "stale"      // it is of another version than the lock, or the lock of another cog.yaml
	Pending    State = "pending"    // none of it is
	Orphaned   State = "orphaned"   // the lock has it, and cog.yaml has not
)

// Status is what is at the target of one of the weights.
type Status struct {
	Name, Target string
	State        State
	Files        []File // that were placed; nil if the operator has put them there
}

// StatusOf finds what is at the target of a weight, without asking its sources.
func (c *Cache) StatusOf(w *Weight) (Status, error) {
	s := Status{Name: w.Name, Target: w.Target, State: Pending}
	was := c.placedAt(w.Target)
	if was.Files == nil {
		f := &fetcher{o: Options{Cache: c}}
		provided, err := f.isProvided(w)
		if provided {
			s.State = Ready
		}
		return s, err
	}
	place := &placement{cache: c, w: w, was: was.Files}
	there := 0
	for path, digest := range was.Files {
		at := File{Path: path, Digest: digest, Size: -1}
		info, err := os.Stat(w.pathOf(at))
		if err == nil && info.Mode().IsRegular() {
			there++
			at.Size = info.Size()
		}
		s.Files = append(s.Files, at)
	}
	slices.SortFunc(s.Files, func(a, b File) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	})
	switch {
	case w.Lock != nil && SetDigest(s.Files) != w.Lock.SetDigest:
		s.State = Stale
	case place.isComplete(s.Files, was):
		s.State = Ready
	case there > 0:
		s.State = Incomplete
	}
	return s, nil
}

// Verify computes the digests of the files that were placed for a weight, and returns what is wrong with them. Wrong
// files are removed, from the cache too, so that the next run fetches them again.
func (c *Cache) Verify(w *Weight) (checked int, wrong []error) {
	for path, digest := range c.placedAt(w.Target).Files {
		at := w.pathOf(File{Path: path})
		got, _, err := digestOf(at)
		checked++
		if err == nil && got == digest {
			continue
		}
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		wrong = append(wrong, &wrongError{at, "SHA-256", digest, got, false})
		if err := os.Remove(at); err != nil {
			wrong = append(wrong, err)
		}
		if !isDigest(digest) {
			continue
		}
		if cached, _, err := digestOf(c.path(digest)); err == nil && cached != digest {
			if err := os.Remove(c.path(digest)); err != nil {
				wrong = append(wrong, fmt.Errorf("remove it from the cache: %w", err))
			}
		}
	}
	return checked, wrong
}
