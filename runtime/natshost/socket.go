package natshost

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// socketName is the socket of an embedded server, in its folder. The folder's mode lets only its user in.
const socketName = "socket"

// listen opens the socket of a folder. Its lock must be held.
func listen(dir string) (*os.File, error) {
	path := filepath.Join(dir, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of a process that was killed
		return nil, fmt.Errorf("open the job queue's socket: %w", err)
	}
	var file *os.File
	err := shortPath(path, func(short string) error {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false) // the file goes on listening
		file, err = l.File()
		return errors.Join(err, l.Close())
	})
	if err != nil {
		return nil, fmt.Errorf("open the job queue's socket: %w", err)
	}
	return file, nil
}

// connectWait bounds an attempt to connect.
const connectWait = 5 * time.Second

// Dialer connects to the server of a folder, in this or another process. It is a nats.CustomDialer.
type Dialer struct{ Dir string }

// SkipTLSHandshake implements nats.CustomDialer's extension: there is no TLS.
func (Dialer) SkipTLSHandshake() bool { return true }

// Dial connects, whatever the address is.
func (d Dialer) Dial(_, _ string) (c net.Conn, err error) {
	err = shortPath(filepath.Join(d.Dir, socketName), func(short string) (err error) {
		c, err = (&net.Dialer{Timeout: connectWait}).DialContext(context.Background(), "unix", short)
		return err
	})
	return c, err
}

// maxSocketPath is how long a socket's path may be.
const maxSocketPath = 100

// shortPath calls f with a path of a socket that the kernel takes, for one of any length.
func shortPath(path string, f func(string) error) error {
	if len(path) <= maxSocketPath {
		return f(path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return f("/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + filepath.Base(path))
}

// NotServedError means that no server runs with a folder.
type NotServedError struct {
	Dir   string
	Cause error
}

func (e *NotServedError) Error() string {
	return fmt.Sprintf("no server runs with the job queue's folder %s: start it first (%v)", e.Dir, e.Cause)
}

func (e *NotServedError) Unwrap() error { return e.Cause }
