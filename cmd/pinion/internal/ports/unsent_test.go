package ports

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// TestListen_BoundsWhatIsUnsent to a client that reads nothing, and does not slow one that reads.
func TestListen_BoundsWhatIsUnsent(t *testing.T) {
	ln, address, err := Listen("127.0.0.1", 0, Setting{}, nil)
	assert.NoError(t, err)
	defer ln.Close()
	client := assert.Must(net.Dial("tcp", strings.TrimPrefix(address, "http://")))(t)
	defer client.Close()
	server := assert.Must(ln.Accept())(t)
	defer server.Close()
	raw := assert.Must(server.(*net.TCPConn).SyscallConn())(t)
	// Until a write waits: the kernel has all that it takes.
	const size = 64 << 20
	_ = server.SetWriteDeadline(time.Now().Add(2 * time.Second))
	written, err := server.Write(make([]byte, size))
	assert.TrueNow(t, os.IsTimeout(err), "got %v after %d bytes, want a write that waits for the client", err, written)
	var unsent int
	assert.NoError(t, raw.Control(func(fd uintptr) { unsent, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQNSD) }))
	if err != nil {
		t.Skipf("the kernel does not say what is unsent: %v", err)
	}
	assert.True(t, unsent <= 4*maxUnsent, "the kernel holds %d bytes that are not sent, want about %d at most", unsent, maxUnsent)
	_ = server.SetWriteDeadline(time.Time{})
	go func() {
		_, _ = server.Write(make([]byte, size-written))
		server.Close()
	}()
	got, err := io.Copy(io.Discard, client)
	assert.True(t, err == nil && got == size, "got %d bytes and %v, want %d", got, err, size)
}
