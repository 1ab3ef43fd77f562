package server

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pinion/runtime/logtext"

	"golang.org/x/sys/unix"
)

// portSetting is how a user sets a port.
type portSetting struct {
	Flag, Variable string // Variable "": there is none
}

// takenError adds to EADDRINUSE which process has the port, if /proc shows it, and what to do. It returns other errors
// unchanged.
func takenError(err error, port int, by portSetting) error {
	if !errors.Is(err, unix.EADDRINUSE) {
		return err
	}
	who := "a process that cannot be seen from here"
	if pid := portOwner(port); pid != 0 {
		who = fmt.Sprintf("process %d (%s)", pid, commandLine(pid))
	}
	how := by.Flag
	if by.Variable != "" {
		how += " or " + by.Variable + "="
	}
	return fmt.Errorf("%w: by %s; end it, or choose another port with %s: %s 0 takes a free one", err, who, how, by.Flag)
}

// portOwner returns the process that listens on a TCP port of this machine, or 0 if that cannot be seen.
func portOwner(port int) int {
	links := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, inode := range listeningInodes(table, port) {
			links["socket:["+inode+"]"] = true
		}
	}
	if len(links) == 0 {
		return 0
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*") // a fixed pattern
	for _, file := range files {
		if link, err := os.Readlink(file); err == nil && links[link] {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2]) // by the pattern
			return pid
		}
	}
	return 0
}

// listeningInodes returns the inodes of the sockets that listen on a port, by one of the kernel's tables
// (Documentation/networking/proc_net_tcp.rst).
func listeningInodes(table string, port int) (inodes []string) {
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
			inodes = append(inodes, fields[9])
		}
	}
	return inodes
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
