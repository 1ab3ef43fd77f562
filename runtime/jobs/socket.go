package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
)

// socketName is the socket of an embedded server, in its folder. The folder's mode lets only its user in.
const socketName = "socket"

// Listen lets other processes of this user reach the server, by a socket in its folder.
func (e *Embedded) Listen() error {
	path := filepath.Join(e.o.Dir, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of a process that was killed; the lock is ours
		return fmt.Errorf("open the job queue's socket: %w", err)
	}
	err := shortPath(path, func(short string) (err error) {
		e.socket, err = net.Listen("unix", short)
		return err
	})
	if err != nil {
		return fmt.Errorf("open the job queue's socket: %w", err)
	}
	e.socket.(*net.UnixListener).SetUnlinkOnClose(false) // the short path is gone by then
	go e.accept()
	return nil
}

func (e *Embedded) closeSocket() {
	if e.socket != nil {
		e.socket.Close()
		_ = os.Remove(filepath.Join(e.o.Dir, socketName)) // else the next server removes it
	}
}

// accept joins each connection of the socket to the server.
func (e *Embedded) accept() {
	for {
		client, err := e.socket.Accept()
		if err != nil {
			return
		}
		inside, err := e.InProcessConn()
		if err != nil {
			client.Close()
			return
		}
		go join(client, inside)
	}
}

// join copies both ways until either side ends.
func join(a, b net.Conn) {
	var both sync.WaitGroup
	for _, ends := range [2][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			_, _ = io.Copy(ends[0], ends[1])
			a.Close()
			b.Close()
		})
	}
	both.Wait()
}

// NotServedError: no server runs with a folder.
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

// mostSocketPath is how long a socket's path may be.
const mostSocketPath = 100

// shortPath calls f with a path of a socket that the kernel takes, for one of any length.
func shortPath(path string, f func(string) error) error {
	if len(path) <= mostSocketPath {
		return f(path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return f("/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + filepath.Base(path))
}
