package process

import (
	"bufio"
	"fmt"
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

// PortOwner returns the process that listens on a TCP port of this machine. Of another user's process it has the user
// only.
func PortOwner(port int) (Owner, bool) {
	owner, links := Owner{}, map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, s := range listeningSockets(table, port) {
			owner.UID = s.uid
			links["socket:["+s.inode+"]"] = true
		}
	}
	if len(links) == 0 {
		return owner, false
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*") // a fixed pattern
	for _, file := range files {
		if link, err := os.Readlink(file); err == nil && links[link] {
			owner.PID, _ = strconv.Atoi(strings.Split(file, "/")[2]) // by the pattern
			break
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

// listeningSockets are the sockets that listen on a port, by one of the kernel's tables
// (Documentation/networking/proc_net_tcp.rst).
func listeningSockets(table string, port int) (sockets []tcpSocket) {
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
		_, local, _ := strings.Cut(fields[1], ":")
		if n, err := strconv.ParseUint(local, 16, 16); err == nil && int(n) == port {
			uid, _ := strconv.Atoi(fields[7]) // a number of the kernel
			sockets = append(sockets, tcpSocket{inode: fields[9], uid: uid})
		}
	}
	return sockets
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
