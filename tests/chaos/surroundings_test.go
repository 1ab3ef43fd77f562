package chaos

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// What goes wrong around a server: with who reads its log, with what it was started from, with its files, and with
// processes that the kernel does not let end. Of these only the removed files excuse a failure, and a frozen worker
// those of a worker that was stopped.

// copyBinary makes a copy of the program that may be replaced.
func (g *rig) copyBinary() string {
	g.t.Helper()
	text, err := os.ReadFile(harness.Binary(g.t))
	g.binary = filepath.Join(g.t.TempDir(), "pinion")
	if err == nil {
		err = os.WriteFile(g.binary, text, 0o755)
	}
	assert.NoError(g.t, err)
	return g.binary
}

// stopReading stops reading the server's log for a while.
func (g *rig) stopReading(r *rand.Rand, _ string) {
	defer g.s.StopReading()()
	g.more(10 + r.IntN(30))
}

// replaceBinary replaces the server's program by another one, or removes it. Workers start all the same.
func (g *rig) replaceBinary(r *rand.Rand, _ string) {
	other := g.binary + ".new"
	err := os.WriteFile(other, []byte("#!/bin/sh\nexit 99\n"), 0o755)
	if err == nil {
		err = os.Rename(other, g.binary)
	}
	if err == nil && r.IntN(2) == 0 {
		err = os.Remove(g.binary)
	}
	if err != nil {
		g.complain("replace the binary: %v", err)
	}
}

// removeRunFolder removes what the server has on disk, as a cleaner of temporary files does, and waits until it is
// there again, which it is with the next file.
func (g *rig) removeRunFolder(*rand.Rand, string) {
	folders := func() []string {
		found, _ := filepath.Glob(filepath.Join(g.tmp(), "pinion-run-*", "files", "pinion-files-*")) // a fixed pattern
		return found
	}
	g.journal.note(entry{What: "removed"})
	runs, _ := filepath.Glob(filepath.Join(g.tmp(), "pinion-run-*")) // a fixed pattern
	for _, folder := range runs {
		if err := until(func() bool { return os.RemoveAll(folder) == nil }); err != nil { // files may come meanwhile
			g.complain("the run folder cannot be removed: %v", err)
		}
	}
	if until(func() bool { return len(folders()) > 0 }) != nil {
		g.complain("the run folder is not made again")
	}
	g.journal.note(entry{What: "remade"})
}

// freeze makes a worker survive SIGKILL: the server must give it up and replace it.
func (g *rig) freeze(r *rand.Rand, _ string) {
	pid := g.victim(r)
	if pid == 0 {
		return
	}
	g.harm(pid, "stopped") // what lies with it does not move
	thaw, err := harness.Freeze(pid)
	if err != nil {
		g.complain("freeze worker %d: %v", pid, err)
		return
	}
	g.background.Go(func() {
		begun := time.Now()
		if until(func() bool { return !g.has(pid) }) != nil {
			g.complain("worker %d is frozen for %s, and not replaced", pid, time.Since(begun))
		}
		if err := thaw(); err != nil {
			g.complain("worker %d does not end: %v", pid, err)
		}
		g.resume(pid)
	})
}
