package ventu

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// process is where a worker's end of a connection is, as far as it is known on this machine.
type process struct {
	pid int // 0 means not known
	fd  int // the socket's number there; -1 means not known
}

// peerOf finds the process at the other end of a connection. On a unix socket the kernel tells it; of a TCP connection
// it is looked for among the processes of this machine.
func peerOf(conn net.Conn) process {
	p := process{fd: -1}
	switch c := conn.(type) {
	case *net.UnixConn:
		raw, err := c.SyscallConn()
		if err != nil {
			return p
		}
		_ = raw.Control(func(fd uintptr) {
			if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
				p.pid = int(cred.Pid)
			}
		})
	case *net.TCPConn:
		here, far := addrPort(c.LocalAddr()), addrPort(c.RemoteAddr())
		if far.Addr().IsLoopback() || far.Addr() == here.Addr() {
			return owner(tcpInode(far, here))
		}
	}
	return p
}

func addrPort(a net.Addr) netip.AddrPort {
	t, _ := a.(*net.TCPAddr)
	if t == nil {
		return netip.AddrPort{}
	}
	ap := t.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// tcpInode returns the inode of the socket of this machine that has these addresses; "" means there is none.
func tcpInode(local, remote netip.AddrPort) string {
	for _, file := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.Open(file)
		if err != nil {
			continue
		}
		defer text.Close()
		for lines := bufio.NewScanner(text); lines.Scan(); {
			// proc_pid_net(5): sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …
			f := strings.Fields(lines.Text())
			if len(f) > 9 && procAddr(f[1]) == local && procAddr(f[2]) == remote {
				return f[9]
			}
		}
	}
	return ""
}

// procAddr reads an address as /proc/net/tcp has it: hexadecimal words of the machine's byte order, here little-endian,
// and the port. Text that is not an address gives the zero address.
func procAddr(text string) netip.AddrPort {
	address, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(address)
	number, err2 := strconv.ParseUint(port, 16, 16)
	if err != nil || err2 != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}
	}
	for i := 0; i < len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	ip, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(number))
}

// owner returns the process that has the socket of that inode open.
func owner(inode string) process {
	if inode == "" || inode == "0" {
		return process{fd: -1}
	}
	want := "socket:[" + inode + "]"
	processes, _ := filepath.Glob("/proc/[0-9]*/fd") // a fixed pattern
	for _, folder := range processes {
		for _, number := range descriptors(folder) {
			if link, _ := os.Readlink(filepath.Join(folder, strconv.Itoa(number))); link == want { // "" means it was closed
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder))) // the pattern says so
				return process{pid, number}
			}
		}
	}
	return process{fd: -1}
}

// descriptors returns the numbers that stand in a /proc/PID/fd that may be read.
func descriptors(folder string) (numbers []int) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil // of another user, or exited
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// hasVentu reports whether a process has loaded a msgpack beside which ventu is installed.
func hasVentu(pid int) bool {
	root := fmt.Sprintf("/proc/%d/", pid)
	maps, err := os.Open(root + "maps")
	if err != nil {
		return false
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		at := strings.IndexByte(lines.Text(), '/')
		if at < 0 {
			continue
		}
		if folder := filepath.Dir(lines.Text()[at:]); filepath.Base(folder) == "msgpack" {
			_, err := os.Stat(filepath.Join(root, "root", filepath.Dir(folder), "ventu", "protocol.py"))
			return err == nil
		}
	}
	return false
}

// borrow calls f with a copy of another process's descriptor, which is closed after it.
func borrow(p process, f func(fd int) error) error {
	pidfd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return fmt.Errorf("open process %d: %w", p.pid, err)
	}
	defer unix.Close(pidfd)
	fd, err := unix.PidfdGetfd(pidfd, p.fd, 0)
	if err != nil {
		return fmt.Errorf("borrow descriptor %d of process %d: %w", p.fd, p.pid, err)
	}
	defer unix.Close(fd)
	return f(fd)
}
