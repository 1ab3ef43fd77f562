package ports

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"pinion/cmd/pinion/internal/process"
)

// Setting is how a user sets a port.
type Setting struct {
	Flag, Variable string // Variable "": there is none
}

// takenError adds to EADDRINUSE which process has the address, if /proc shows it, and what to do. It returns other
// errors unchanged.
func takenError(err error, by Setting) error {
	at, ok := errors.AsType[*net.OpError](err)
	if !ok || !errors.Is(err, unix.EADDRINUSE) {
		return err
	}
	taken, ok := at.Addr.(*net.TCPAddr)
	if !ok {
		return err
	}
	who := "a process that cannot be seen from here"
	owner, ok := process.PortOwner(taken.AddrPort())
	if ok {
		who = owner.String()
	}
	how := by.Flag
	if by.Variable != "" {
		how += " or " + by.Variable + "="
	}
	if owner.PID == os.Getpid() {
		return fmt.Errorf("%w: by this server itself; choose another port with %s", err, how)
	}
	return fmt.Errorf("%w: by %s; end it, or choose another port with %s: %s 0 takes a free one", err, who, how, by.Flag)
}
