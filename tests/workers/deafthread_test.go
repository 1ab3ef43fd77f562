package workers

import (
	"path/filepath"
	"testing"

	"pinion/tests/harness"
)

// deafThread is a library that starts a thread which blocks every signal and sleeps, as QEMU has one.
const deafThread = `
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void *sleep_deaf(void *unused) {
  for (;;) pause();
  return unused;
}

__attribute__((constructor)) static void start(void) {
  sigset_t all, before;
  pthread_t thread;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_create(&thread, NULL, sleep_deaf, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}
`

// TestDeafThread_WorkerStarts beside a thread that no signal reaches: it once waited for that thread without end.
func TestDeafThread_WorkerStarts(t *testing.T) {
	t.Parallel()
	source := filepath.Join(harness.NewFolder(t, "deaf.c", deafThread), "deaf.c")
	library := harness.SharedLibrary(t, "libdeaf.so", source)
	dir := harness.NewFolder(t, "run.py", "def run(x: int) -> int:\n    return x + 1\n")
	s := harness.Ready(t, harness.Options{Dir: dir, Env: []string{"LD_PRELOAD=" + library}})
	s.Succeed(map[string]any{"x": 1})
}
