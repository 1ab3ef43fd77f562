package weights

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Schemes returns the schemes of URLs that weights may come from.
func Schemes() []string { return []string{"https", "http", "hf", "huggingface", "file"} }

// ask asks a source what it has. The source was checked by CheckURI.
func (f *fetcher) ask(ctx context.Context, s *Source) (listing, error) {
	switch {
	case s.scheme() == "file":
		return listFolder(f.localPath(*s))
	case s.isHub():
		return f.listHub(ctx, s)
	}
	return f.listURL(ctx, s)
}

// CheckURI says what is wrong with the URI of a source whose scheme is known.
func CheckURI(uri string) error {
	scheme, rest, is := strings.Cut(uri, "://")
	if !is || scheme == "file" {
		return nil
	}
	if (Source{URI: uri}).isHub() {
		if _, _, is := hubRepo(uri); !is {
			return errors.New("the URL names no repository: write hf://OWNER/NAME, or hf://OWNER/NAME@REVISION")
		}
		return nil
	}
	u, err := url.Parse(uri)
	if err != nil {
		return fmt.Errorf("%s: %w", Source{URI: uri}.shown(), withoutURL(err))
	}
	switch {
	case u.User != nil:
		return errors.New("the URL has a user or a password")
	case u.Hostname() == "" || rest == "":
		return errors.New("the URL names no server")
	}
	name := FileName(uri)
	if err := checkPath(name); err != nil || strings.Contains(name, "/") {
		return errors.New("the URL ends with no name of a file")
	}
	return nil
}

// FileName returns the base name of the file at an http URL.
func FileName(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || strings.HasSuffix(u.Path, "/") || (Source{URI: uri}).isHub() {
		return ""
	}
	return path.Base(u.Path)
}

// listURL asks what is at an http URL: one file.
func (f *fetcher) listURL(ctx context.Context, s *Source) (listing, error) {
	u, err := url.Parse(s.URI)
	if err != nil {
		return listing{}, withoutURL(err)
	}
	o := &object{name: s.shown(), url: u, size: -1, mutable: true}
	if err := f.client.probe(ctx, o); err != nil {
		return listing{}, err
	}
	e := entry{File: File{Path: FileName(s.URI), Size: o.size}, Key: o.versionKey(), object: o}
	l := listing{}
	if o.etag != "" {
		l.Fingerprint = "etag:" + o.etag
	}
	l.Files = []entry{e}
	return l, nil
}

// localPath returns the path of a source on this machine.
func (f *fetcher) localPath(s Source) string {
	name := strings.TrimPrefix(s.URI, "file://")
	if !filepath.IsAbs(name) {
		name = filepath.Join(f.o.Folder, name)
	}
	return filepath.Clean(name)
}

// listFolder returns the files of a folder, or a file. Links, devices and the like are refused: a copy would be
// something else.
func listFolder(name string) (l listing, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return l, err
	}
	add := func(below, at string, info fs.FileInfo) error {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no file and no folder: weights are copied, and a link or a device cannot be", at)
		}
		if err := checkPath(below); err != nil {
			return err
		}
		l.Files = append(l.Files, entry{
			File: File{Path: below, Size: info.Size()}, Key: localKey(at, info), local: at,
		})
		return nil
	}
	if !info.IsDir() {
		return l, add(filepath.Base(name), name, info)
	}
	err = filepath.WalkDir(name, func(at string, found fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if found.IsDir() {
			if found.Name() == cogFolder && at != name {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := found.Info()
		if err != nil {
			return err
		}
		below, err := filepath.Rel(name, at)
		if err != nil {
			return err
		}
		return add(filepath.ToSlash(below), at, info)
	})
	return l, err
}

// cogFolder is where Cog's protocol has its markers, below a target.
const cogFolder = ".cog"

// localKey stands for a version of a file of this machine.
func localKey(name string, info fs.FileInfo) string {
	inode := uint64(0)
	if st, is := info.Sys().(*syscall.Stat_t); is {
		inode = st.Ino
	}
	return keyOf("local", name, strconv.FormatInt(info.Size(), 10), strconv.FormatInt(info.ModTime().UnixNano(), 10),
		strconv.FormatUint(inode, 10))
}
