package process

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"pinion/runtime/logtext"
)

// Owner is a process of this machine, as messages name it.
type Owner struct {
	PID int // 0 if it cannot be seen
	UID int
}

// OwnerOf returns a process by its id; false means there is none.
func OwnerOf(pid int) (Owner, bool) {
	info, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	if pid <= 0 || err != nil {
		return Owner{}, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Owner{}, false
	}
	return Owner{PID: pid, UID: int(st.Uid)}, true
}

// PortOwner returns the process that listens at an address of this machine; without an IP address, at that port of any.
// Of another user's process it has the user only.
func PortOwner(at netip.AddrPort) (owner Owner, found bool) {
	uids := map[string]int{} // by the link to the socket
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, s := range listeningSockets(table, at) {
			owner.UID = s.uid
			uids["socket:["+s.inode+"]"] = s.uid
		}
	}
	if len(uids) == 0 {
		return owner, false
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*") // a fixed pattern
	for _, file := range files {
		link, err := os.Readlink(file)
		if uid, is := uids[link]; err == nil && is {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2]) // by the pattern
			return Owner{PID: pid, UID: uid}, true
		}
	}
	return owner, true
}

// IsOurs reports whether the process is this user's.
func (o Owner) IsOurs() bool { return o.UID == os.Getuid() }

// String names the process.
func (o Owner) String() string {
	who := "a process"
	if o.PID != 0 {
		who = fmt.Sprintf("process %d (%s)", o.PID, commandLine(o.PID))
	}
	if !o.IsOurs() {
		who += " of user " + o.User()
	}
	return who
}

// User returns the user's name, or number where it has none here.
func (o Owner) User() string {
	id := strconv.Itoa(o.UID)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// tcpSocket is a socket in one of the kernel's tables.
type tcpSocket struct {
	inode string
	uid   int
}

// listeningSockets are the sockets that keep another one from an address, by one of the kernel's tables
// (Documentation/networking/proc_net_tcp.rst).
func listeningSockets(table string, at netip.AddrPort) (sockets []tcpSocket) {
	const listening = "0A"
	file, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != listening {
			continue
		}
		if bound, ok := parseSocketAddress(fields[1]); ok && bound.Port() == at.Port() && overlap(bound.Addr(), at.Addr()) {
			uid, _ := strconv.Atoi(fields[7]) // a number of the kernel
			sockets = append(sockets, tcpSocket{inode: fields[9], uid: uid})
		}
	}
	return sockets
}

// parseSocketAddress reads an address of the kernel's tables, such as 0100007F:1388: each four bytes are a number in the
// order of this machine.
func parseSocketAddress(text string) (netip.AddrPort, bool) {
	digits, port, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, false
	}
	ip, err := hex.DecodeString(digits)
	if err != nil || len(ip)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(ip); i += 4 {
		binary.NativeEndian.PutUint32(ip[i:], binary.BigEndian.Uint32(ip[i:]))
	}
	address, ok := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(address.Unmap(), uint16(n)), ok
}

// overlap reports whether a socket that is bound to one address keeps another one from the address wanted at its port.
// An invalid address stands for any. A socket at :: has IPv4 too.
func overlap(bound, wanted netip.Addr) bool {
	wanted = wanted.Unmap()
	return !wanted.IsValid() || wanted.IsUnspecified() || bound == wanted ||
		bound.IsUnspecified() && (bound.Is6() || wanted.Is4())
}

// commandLine returns how a process was started, cut where it is long.
func commandLine(pid int) string {
	const most = 120
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
	line := strings.Join(strings.FieldsFunc(string(text), func(r rune) bool { return r < ' ' }), " ")
	if line == "" {
		return "its command cannot be read"
	}
	return logtext.ClipTo(line, most)
}
