package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// AdoptOrphans makes this process the parent of every descendant that loses its own, and reaps those: workers that the
// preload process forks, and what a model leaves behind. So a worker's descendants end with it, and a container needs
// no init. QEMU's emulation of a processor does not know the call (EINVAL): there orphans are left to init.
func AdoptOrphans() (*Orphans, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("become a child subreaper: %w", err)
	}
	orphans := NewOrphans()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		again := time.After(reapDelay) // for children that ended earlier: a look at all processes would delay the start
		for {                          // for as long as this process lives
			select {
			case <-ended:
			case <-again:
			}
			again = nil
			if _, later := orphans.Reap(); later {
				again = time.After(reapDelay)
			}
		}
	}()
	return orphans, nil
}
