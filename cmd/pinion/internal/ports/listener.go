package ports

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pinion/cmd/pinion/internal/process"
)

// Listen opens the server's socket and says which address it is bound to; 0.0.0.0 stands for all of the machine's.
func Listen(host string, port int, by Setting, cert *Certificate) (net.Listener, string, error) {
	if path, ok := strings.CutPrefix(host, "unix:"); ok {
		if err := RemoveStaleSocket(path); err != nil {
			return nil, "", ListenError(err)
		}
		ln, err := net.Listen("unix", path)
		if err != nil {
			return nil, "", ListenError(fmt.Errorf("listen on %s: %w", host, err))
		}
		return ln, host, nil
	}
	config := net.ListenConfig{Control: boundUnsent}
	config.SetMultipathTCP(false) // connections to such a socket do not inherit the option
	ln, err := config.Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, "", ListenError(fmt.Errorf("listen on %s port %d: %w", host, port, takenError(err, by)))
	}
	_, picked, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		return nil, "", fmt.Errorf("read own address: %w", err)
	}
	if host == "" {
		host = "::"
	}
	scheme := "http://"
	if cert != nil {
		scheme = "https://"
	}
	return ln, scheme + net.JoinHostPort(host, picked), nil
}

// ListenError returns the error of an address that cannot be listened on, with its exit code: it is used wrongly, unless
// another process has it, which may have ended at the next start.
func ListenError(err error) error {
	if errors.Is(err, unix.EADDRINUSE) {
		return process.Failed(err)
	}
	return process.Misused(err)
}

// maxUnsent is about how many bytes the kernel holds for a connection that are not on their way to the client.
const maxUnsent = 32 << 10

// boundUnsent bounds what the kernel holds of an answer that its client does not read: megabytes of each otherwise,
// which count as the server's memory. What is on its way is not bounded, so fast clients get no less. The connections
// that the socket accepts inherit the option.
func boundUnsent(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent) // not every kernel has it
	})
}

// Reachable returns an address by which programs on this machine reach a server that is bound to address, which may
// stand for all of the machine's: all is then true.
func Reachable(address string) (_ string, everywhere bool) {
	scheme, rest, _ := strings.Cut(address, "//")
	host, port, err := net.SplitHostPort(rest)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return scheme + "//" + net.JoinHostPort("127.0.0.1", port), true
	}
	return address, false
}

// RemoveStaleSocket removes a socket file without a listener.
func RemoveStaleSocket(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return nil // nothing there, or nothing of ours: Listen says what is wrong
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
		return fmt.Errorf("listen on unix:%s: %w", path, unix.EADDRINUSE)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove stale socket: %w", err)
	}
	return nil
}
