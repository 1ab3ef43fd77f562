package usertext

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unicode/utf16"
	"unicode/utf8"
)

// How large files may be. No model needs more by far.
const (
	MaxText   = 1 << 20  // of cog.yaml, pinion.yaml and such
	MaxLock   = 16 << 20 // of requirements, which may have a hash of each file
	MaxSchema = 16 << 20 // of an OpenAPI document
	MaxInput  = 1 << 30  // of a prediction's input
)

// open opens a file without waiting for the writer of a named pipe: a model's folder may have one.
func open(name string) (*os.File, error) { return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) }

// errNoWriter is the error of a named pipe, such as mkfifo makes.
var errNoWriter = errors.New("is a named pipe that no program writes to")

// ReadFile reads a file of at most limit bytes. The error is a *fs.PathError.
func ReadFile(name string, limit int) ([]byte, error) {
	file, err := open(name)
	if err != nil {
		if target, e := os.Readlink(name); e == nil && errors.Is(err, fs.ErrNotExist) {
			err = &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("is a link to %s, which does not exist", target)}
		}
		return nil, err
	}
	defer file.Close()
	data, err := ReadFrom(file, limit)
	if err == nil && len(data) == 0 {
		if info, e := file.Stat(); e == nil && info.Mode()&fs.ModeNamedPipe != 0 {
			err = errNoWriter
		}
	}
	var at *fs.PathError
	if err != nil && !errors.As(err, &at) {
		err = &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return data, err
}

// WriteFiles writes files of a folder, none of them where a link leads one out of it: other people may have made the
// folder.
func WriteFiles(dir string, files map[string][]byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for name := range files {
		if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name, data := range files {
		if err := root.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// IsUTF8 reports whether a file that can be read is UTF-8 as it lies there, for other programs.
func IsUTF8(name string) bool {
	file, err := open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxLock))
	return err == nil && utf8.Valid(data)
}

// Reason returns an error of Read without the name of the file, for messages that have it.
func Reason(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// ReadFrom is Read for a file that is open.
func ReadFrom(r io.Reader, limit int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > limit {
		return nil, fmt.Errorf("larger than %d MiB", limit>>20)
	}
	return decode(data), nil
}

// decode removes a byte order mark, and makes UTF-8 of UTF-16, which PowerShell writes.
func decode(data []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return bytes.TrimPrefix(data, []byte("\ufeff"))
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return []byte(string(utf16.Decode(units)))
}
