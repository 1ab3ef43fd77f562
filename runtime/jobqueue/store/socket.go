package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nats-io/nats.go"
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

// NotServedError means that no server runs with a folder.
type NotServedError struct {
	Dir   string
	Cause error
}

func (e *NotServedError) Error() string {
	return fmt.Sprintf("no server runs with the job queue's folder %s: start it first (%v)", e.Dir, e.Cause)
}

func (e *NotServedError) Unwrap() error { return e.Cause }

// ConnectSocket connects to the embedded server of another process.
func ConnectSocket(dir string, o ...nats.Option) (*nats.Conn, error) {
	nc, err := nats.Connect("nats://embedded", append(o, nats.SetCustomDialer(socketDialer(dir)))...)
	if err != nil {
		return nil, &NotServedError{dir, err}
	}
	return nc, nil
}

// DialSocket connects a command to the embedded server of another process.
func DialSocket(ctx context.Context, dir, name string) (*Conn, error) {
	c := Dial(func() (*nats.Conn, error) { return ConnectSocket(dir, nats.Name(name)) })
	return c, c.Tried(ctx)
}

// socketDialer is the folder of an embedded server.
type socketDialer string

// SkipTLSHandshake implements nats.CustomDialer's extension: there is no TLS.
func (socketDialer) SkipTLSHandshake() bool { return true }

// Dial implements nats.CustomDialer.
func (d socketDialer) Dial(_, _ string) (c net.Conn, err error) {
	err = shortPath(filepath.Join(string(d), socketName), func(short string) (err error) {
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
