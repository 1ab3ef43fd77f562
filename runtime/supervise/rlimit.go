package supervise

import (
	"fmt"
	"math"
	"strings"

	"golang.org/x/sys/unix"
)

// lowerable are the limits that a model may set for itself, and that make Python or its worker fail where they bind.
var lowerable = [...]struct {
	name     string
	resource int
}{
	{"RLIMIT_NOFILE", unix.RLIMIT_NOFILE},
	{"RLIMIT_NPROC", unix.RLIMIT_NPROC},
	{"RLIMIT_AS", unix.RLIMIT_AS},
	{"RLIMIT_DATA", unix.RLIMIT_DATA},
	{"RLIMIT_STACK", unix.RLIMIT_STACK},
	{"RLIMIT_FSIZE", unix.RLIMIT_FSIZE},
}

// leastFiles is a limit of descriptors that is high enough not to explain a failure. Go raises its own limit above that
// of its children.
const leastFiles = 1024

// lowered names the limits of a child that has ended and is not reaped, or runs, that are below this process's.
func (c *child) lowered() string {
	var found []string
	for _, l := range lowerable {
		var its, own unix.Rlimit
		if unix.Prlimit(c.pid, l.resource, nil, &its) != nil || unix.Prlimit(0, l.resource, nil, &own) != nil {
			continue
		}
		if its.Cur < own.Cur && (l.resource != unix.RLIMIT_NOFILE || its.Cur < leastFiles) {
			found = append(found, fmt.Sprintf("%s is %d (the server's: %s)", l.name, its.Cur, rlimitText(own.Cur)))
		}
	}
	return strings.Join(found, ", ")
}

func rlimitText(n uint64) string {
	if n == math.MaxUint64 {
		return "unlimited"
	}
	return fmt.Sprint(n)
}
