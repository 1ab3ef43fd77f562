package server

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestListen_BoundsWhatIsUnsent to a client that reads nothing, and does not slow one that reads.
func TestListen_BoundsWhatIsUnsent(t *testing.T) {
	ln, address, err := listen("127.0.0.1", 0, portSetting{})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	raw, err := server.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	// Until a write waits: the kernel has all that it takes.
	const size = 64 << 20
	_ = server.SetWriteDeadline(time.Now().Add(2 * time.Second))
	written, err := server.Write(make([]byte, size))
	if !os.IsTimeout(err) {
		t.Fatalf("got %v after %d bytes, want a write that waits for the client", err, written)
	}
	var unsent int
	if err := raw.Control(func(fd uintptr) { unsent, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQNSD) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Skipf("the kernel does not say what is unsent: %v", err)
	}
	if unsent > 4*maxUnsent {
		t.Errorf("the kernel holds %d bytes that are not sent, want about %d at most", unsent, maxUnsent)
	}
	_ = server.SetWriteDeadline(time.Time{})
	go func() {
		_, _ = server.Write(make([]byte, size-written))
		server.Close()
	}()
	if got, err := io.Copy(io.Discard, client); err != nil || got != size {
		t.Errorf("got %d bytes and %v, want %d", got, err, size)
	}
}
