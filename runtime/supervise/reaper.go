package supervise

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// adoptsOrphans tells whether orphans become this process's children: as the first process of a container,
// or as a "child subreaper".
func adoptsOrphans() bool {
	if os.Getpid() == 1 {
		return true
	}
	var subreaper int32
	_, _, errno := unix.Syscall(unix.SYS_PRCTL, unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&subreaper)), 0)
	return errno == 0 && subreaper != 0
}

// AdoptForks makes this process the parent of workers that its preload process forks, as it is of those that it starts. Any
// other process that loses its parent becomes its child too, as in a container; see ReapOrphans.
func AdoptForks() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a child subreaper: %w", err)
	}
	return nil
}

// ReapOrphans reaps the orphans that become this process's children, where they do, so that a container
// needs no init. It returns where to register our children; nil if there is nothing to reap.
func ReapOrphans() *Orphans {
	if !adoptsOrphans() {
		return nil
	}
	orphans := NewOrphans()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		for { // for as long as this process lives
			orphans.Reap()
			<-ended
		}
	}()
	return orphans
}
