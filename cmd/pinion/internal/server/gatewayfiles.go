package server

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"pinion/httpd/oip"
	"pinion/httpd/protocol"
	"pinion/runtime/files"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
)

// jobInput is the input of a job that is made of a request of another protocol: JSON, in which files are data URLs and
// arrays lists. It is charged to the memory budget until it is released.
type jobInput struct {
	body    []byte // {"input":…}
	budget  *memory.Budget
	request int64 // what the request itself is charged
	charged int64
}

const beforeInput = `{"input":`

// newJobInput copies the input of a request. The error is of package memory if it does not fit into the budget.
func newJobInput(req *predict.Request, budget *memory.Budget) (in *jobInput, err error) {
	in = &jobInput{budget: budget, request: req.Charged}
	defer func() {
		if err != nil {
			in.release()
		}
	}()
	size := int64(len(req.Input))
	if req.Attachments != nil {
		more, err := sizeWithFiles(req.Input, req.Attachments)
		if err != nil {
			return in, err
		}
		size += more
	}
	if err := in.charge(size); err != nil {
		return in, err
	}
	in.body = append(make([]byte, 0, int(size)+len(beforeInput)+1), beforeInput...)
	if in.body, err = appendWithFiles(in.body, req.Input, req.Attachments); err != nil {
		return in, err
	}
	if len(req.Tensors) > 0 {
		lists, finite := oip.Lists(in.body[len(beforeInput):], req.Tensors)
		if !finite {
			return in, protocol.Errorf(protocol.BadInput, "the array does not fit into the job queue, which keeps JSON: "+
				"it has a number that is not finite. Send it to a server")
		}
		if err := in.charge(int64(len(lists))); err != nil {
			return in, err
		}
		in.body = append([]byte(beforeInput), lists...)
	}
	in.body = append(in.body, '}')
	return in, nil
}

// input returns the input alone.
func (in *jobInput) input() []byte { return in.body[len(beforeInput) : len(in.body)-1] }

// charge charges n more bytes. Small ones are not charged.
func (in *jobInput) charge(n int64) error {
	total := in.request + in.charged + n
	switch {
	case n < memory.MinCharge:
		return nil
	case total > in.budget.Max():
		return fmt.Errorf("the request needs %d bytes of memory as a job: %w", total, in.budget.TooLarge())
	case !in.budget.Take(n, total):
		return fmt.Errorf("the request needs %d bytes of memory as a job: %w", total, memory.ErrFull)
	}
	in.charged += n
	return nil
}

func (in *jobInput) release() { in.budget.Free(in.charged) }

// attachedFile is a file for which the input has a placeholder.
type attachedFile struct{ path, media string }

// nextFile returns the input before the next placeholder, its file, and the input behind it, or false if there is none.
func nextFile(input []byte, attached predict.Attachments) (before []byte, f attachedFile, after []byte, ok bool, err error) {
	var placeholder []byte
	if before, placeholder, after, ok = predict.CutPlaceholder(input); !ok {
		return input, f, nil, false, nil
	}
	number, name, known := predict.ReadPlaceholder(placeholder)
	if f.path = attached.Path(number); !known || f.path == "" {
		return nil, f, nil, false, errors.New("an attached file is missing")
	}
	if f.media = files.MediaType(filepath.Ext(name)); f.media == "" {
		f.media = "application/octet-stream"
	}
	return before, f, after, true, nil
}

// sizeWithFiles returns how much the files add to the input as data URLs.
func sizeWithFiles(input []byte, files predict.Attachments) (size int64, err error) {
	for {
		_, f, after, ok, err := nextFile(input, files)
		if !ok {
			return size, err
		}
		info, err := os.Stat(f.path)
		if err != nil {
			return 0, fmt.Errorf("read an attached file: %w", err)
		}
		size += int64(base64.StdEncoding.EncodedLen(int(info.Size())) + len(`"data:;base64,"`) + len(f.media))
		input = after
	}
}

// appendWithFiles appends the input with data URLs in place of files.
func appendWithFiles(dst, input []byte, files predict.Attachments) ([]byte, error) {
	if files == nil {
		return append(dst, input...), nil
	}
	for {
		before, f, after, ok, err := nextFile(input, files)
		if err != nil {
			return nil, err
		}
		dst = append(dst, before...)
		if !ok {
			return dst, nil
		}
		dst = append(dst, `"data:`+f.media+";base64,"...)
		if dst, err = appendFile(dst, f.path); err != nil {
			return nil, fmt.Errorf("read an attached file: %w", err)
		}
		dst = append(dst, '"')
		input = after
	}
}

// appendFile appends a file in base64.
func appendFile(dst []byte, path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	out := &appender{dst}
	encoder := base64.NewEncoder(base64.StdEncoding, out)
	if _, err := io.Copy(encoder, file); err != nil {
		return nil, err
	}
	err = encoder.Close()
	return out.b, err
}

// appender appends what is written.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(slices.Grow(a.b, len(p)), p...)
	return len(p), nil
}
