package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// listen opens the server's socket and says under which address it is reached.
func listen(host string, port int) (net.Listener, string, error) {
	if path, ok := strings.CutPrefix(host, "unix:"); ok {
		if err := removeStale(path); err != nil {
			return nil, "", err
		}
		ln, err := net.Listen("unix", path)
		if err != nil {
			return nil, "", fmt.Errorf("listen on %s: %w", host, err)
		}
		return ln, host, nil
	}
	ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, "", fmt.Errorf("listen on %s port %d: %w", host, port, err)
	}
	_, picked, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		return nil, "", fmt.Errorf("read own address: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return ln, "http://" + net.JoinHostPort(host, picked), nil
}

// removeStale removes a socket file that nobody listens on any more.
func removeStale(path string) error {
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
