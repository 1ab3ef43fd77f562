package service

import (
	"errors"
	"fmt"
	"os"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/schema"
)

// spills are the rewritten inputs of one request whose body lies on disk.
type spills struct {
	open  func(size int64) (*os.File, error)
	size  int64 // of the body, in bytes
	files []*spilled
}

// newSpills returns where the rewritten input of a request goes, or nil if to memory, where its body lies too.
func (s *Service) newSpills(req *predict.Request) *spills {
	if req.Disk == nil {
		return nil
	}
	return &spills{open: s.o.Files.Spool, size: int64(len(req.Input))}
}

func (s *spills) next() schema.Spill {
	f := &spilled{}
	f.file, f.err = s.open(s.size)
	s.files = append(s.files, f)
	return f
}

// have reports whether input is the last of them.
func (s *spills) have(input []byte) bool {
	return s != nil && len(s.files) > 0 && aliases(s.files[len(s.files)-1].mapping.Data, input)
}

// unmap frees all. unused means that no write can still read them.
func (s *spills) unmap(unused bool) {
	if s == nil {
		return
	}
	for _, f := range s.files {
		f.close()
		f.mapping.Unmap(unused)
	}
}

// spilled is a file with a rewritten input. Its errors are memory.ErrFull.
type spilled struct {
	file    *os.File
	mapping memory.Mapping
	size    int
	err     error // of the file
}

func (f *spilled) Write(b []byte) (int, error) {
	if f.err != nil {
		return 0, f.full(f.err)
	}
	n, err := f.file.Write(b)
	f.size += n
	if err != nil {
		f.err = errors.Unwrap(err) // without the file's path
		return n, f.full(f.err)
	}
	return n, nil
}

func (f *spilled) Bytes() ([]byte, error) {
	mapping, err := memory.Map(f.file, f.size)
	if err != nil {
		return nil, f.full(err)
	}
	f.close()
	f.mapping = *mapping
	return f.mapping.Data, nil
}

func (f *spilled) full(err error) error {
	return fmt.Errorf("%w, and the input cannot be written to disk: %w", memory.ErrFull, err)
}

func (f *spilled) close() {
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
}
