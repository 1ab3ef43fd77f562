package files

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// outFolder is where a worker writes the output files of one prediction. It copies each to <path>/<number>/<name> and
// replaces it in the output by a mark, "pinion-file:<token>:<number>/<name>". The token is random, so that no client's
// text can be a mark.
type outFolder struct {
	path   string
	token  string // 32 hexadecimal digits
	mark   []byte // the beginning of a mark in JSON, with its quote
	remove func() // may be called any number of times
}

// newOutFolder makes the folder for the prediction with that id. The error is ErrClosed or one of the file system.
func (s *Store) newOutFolder(id string) (outFolder, error) {
	if !s.enter() {
		return outFolder{}, ErrClosed
	}
	defer s.fetches.Done()
	path, remove, err := s.makeFolder(id)
	if err != nil {
		return outFolder{}, err
	}
	token := newToken()
	return outFolder{path: path, token: token, mark: markOf(token), remove: remove}, nil
}

// newToken returns 32 random hexadecimal digits.
func newToken() string {
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // never fails
	return hex.EncodeToString(secret[:])
}

// markOf returns the beginning of a mark in JSON, with its quote.
func markOf(token string) []byte { return []byte(`"` + markPrefix + token + ":") }

// numbered returns the number in "0/out.png". ok is false for names that a worker never sends.
func numbered(file string) (number string, ok bool) {
	number, name, _ := strings.Cut(file, "/")
	_, err := strconv.ParseUint(number, 10, 32)
	return number, err == nil && name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

// open opens a file by its number and name, "0/out.png". It follows no link out of the folder and does not block. For a
// file that is not regular the error is ErrNoFile, because a device may never end.
func (f *outFolder) open(file string) (*os.File, error) {
	if _, ok := numbered(file); !ok {
		return nil, ErrNoFile
	}
	root, err := os.OpenRoot(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrFolderMissing
	}
	if err != nil {
		return nil, err
	}
	opened, err := root.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err = errors.Join(err, root.Close()); err != nil {
		return nil, err
	}
	if info, err := opened.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(ErrNoFile, err, opened.Close())
	}
	return opened, nil
}
