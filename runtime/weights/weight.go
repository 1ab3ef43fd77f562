package weights

import (
	"fmt"
	"strings"
)

// Weight is an entry of cog.yaml's weights that is fetched.
type Weight struct {
	Name    string
	Target  string // absolute: a folder, or with IsFile the file itself
	Written string // the target as cog.yaml has it
	IsFile  bool
	Sources []Source
	SHA256  string // of its only file; "" means any
	NoWait  bool   // setup starts without it
	Unpack  bool   // its files are archives, whose files are placed
	Awaited bool   // another program brings it
	Line    int    // of cog.yaml
	// Lock says which files they must be; nil means any.
	Lock *Locked
}

// Source is where weights come from: a URL, or a path of this machine.
type Source struct {
	URI              string
	Include, Exclude []string // patterns of files below the URI; nil means all, and none
	commit           string   // of a repository, where a lock says it; else ""
}

// scheme returns the scheme of a URI, or "file" for a path.
func (s Source) scheme() string {
	scheme, _, is := strings.Cut(s.URI, "://")
	if !is {
		return "file"
	}
	return scheme
}

// shown returns the URI for messages: without a query, which may be signed.
func (s Source) shown() string {
	uri, _, _ := strings.Cut(s.URI, "?")
	return uri
}

// Error is why one of the weights is not there.
type Error struct {
	Name string
	Line int // of cog.yaml
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("weights %s: %v", e.Name, e.Err) }
func (e *Error) Unwrap() error { return e.Err }
