package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Fetch stores the files of p on disk and returns its input with local paths instead of URLs. Without files it returns
// p.Input itself. cleanup removes the prediction's folder. It is never nil, and after an error it has nothing to
// remove.
//
// The error is a *FetchError, ErrTooMany, ErrClosed, the cause of ctx's end, or one of the file system.
func (s *Store) Fetch(ctx context.Context, id string, p predict.Prepared) (input []byte, cleanup func(), err error) {
	nothing := func() {}
	if len(p.Files) == 0 {
		return p.Input, nothing, nil
	}
	if !slices.ContainsFunc(p.Files, func(f predict.File) bool { return f.Path == "" }) {
		paths := make([]string, len(p.Files)) // all files are attachments
		for i := range paths {
			paths[i] = p.Files[i].Path
		}
		return replace(p, paths), nothing, nil
	}
	if most := s.options.MaxFiles; most >= 0 && len(p.Files) > most {
		return nil, nothing, fmt.Errorf("%w: %d, and at most %d are allowed", ErrTooMany, len(p.Files), most)
	}
	if !s.enter() {
		return nil, nothing, ErrClosed
	}
	defer s.fetches.Done()

	path, remove, err := s.makeFolder(id)
	if err != nil {
		return nil, nothing, err
	}
	paths, err := s.fetchAll(ctx, path, p.Files)
	if err != nil {
		if !exists(path) {
			err = ErrFolderMissing
		}
		remove()
		return nil, nothing, err
	}
	return replace(p, paths), remove, nil
}

// makeFolder makes a folder for the prediction with that id. remove may be called any number of times.
func (s *Store) makeFolder(id string) (path string, remove func(), err error) {
	folder := s.current()
	path, err = os.MkdirTemp(folder.path, folderName(id)+"-")
	if errors.Is(err, fs.ErrNotExist) {
		if folder, err = s.remake(folder); err == nil {
			path, err = os.MkdirTemp(folder.path, folderName(id)+"-")
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("make folder of prediction: %w", err)
	}
	return path, sync.OnceFunc(func() {
		if err := removeAll(path); err != nil {
			s.options.Logger.Error("cannot remove files of prediction", "prediction_id", logtext.Clip(id), "path", path, "error",
				err)
		}
	}), nil
}

// fetchAll fetches each file to a separate folder below path. The first failure ends the rest.
func (s *Store) fetchAll(ctx context.Context, path string, list []predict.File) ([]string, error) {
	paths := make([]string, len(list))
	err := s.each(ctx, len(list), func(ctx context.Context, i int) (err error) {
		paths[i], err = s.fetchOne(ctx, filepath.Join(path, strconv.Itoa(i)), list[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	return paths, nil
}

// each calls do for every number below n, Options.Parallel at a time, and returns the first error. An error ends the
// rest, as do the end of ctx and Close.
func (s *Store) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(s.ctx, func() { cancel(ErrClosed) })
	defer stop()

	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(s.options.Parallel, n) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return
				}
				if err := do(ctx, i); err != nil {
					cancel(err) // only the first one counts
				}
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (s *Store) fetchOne(ctx context.Context, folder string, file predict.File) (string, error) {
	if file.Path != "" {
		return file.Path, nil
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", fmt.Errorf("make folder of file: %w", err)
	}
	var path string
	var err error
	if isData(file.URL) {
		path, err = saveData(folder, file.URL, s.options.MaxFile)
	} else {
		path, err = s.download(ctx, folder, file.URL)
	}
	if err != nil {
		return "", &FetchError{Field: file.Field, URL: redact(file.URL), Cause: err}
	}
	return path, nil
}

// replace returns the input of p with paths instead of URLs.
func replace(p predict.Prepared, paths []string) []byte {
	order := make([]int, len(p.Files))
	size := len(p.Input)
	for i := range order {
		order[i] = i
		size += len(paths[i]) + 2 - (p.Files[i].End - p.Files[i].Start)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p.Files[a].Start, p.Files[b].Start) })
	out := make([]byte, 0, size)
	from := 0
	for _, i := range order {
		out = append(out, p.Input[from:p.Files[i].Start]...)
		path := paths[i]
		if p.Files[i].Content {
			path = "\x00" + path // which no client can send for it: see values/streams.py of the worker
		}
		out = rawjson.AppendQuoted(out, path)
		from = p.Files[i].End
	}
	return append(out, p.Input[from:]...)
}
