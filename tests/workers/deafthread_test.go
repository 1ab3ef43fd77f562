package workers

import (
	"path/filepath"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// deafThread is a library that starts threads which block every signal and sleep: one before Go starts, as QEMU does,
// and one beside each thread that Go starts, as an allocator does. hear has all take what signals wait for them.
const deafThread = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

static __typeof__(pthread_create) *start_thread;
static sem_t heard;
static sem_t hearing;
static _Atomic int threads;

static void *sleep_deaf(void *unused) {
  while (sem_wait(&hearing));
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, NULL);
  sem_post(&heard);
  return unused;
}

static void start_deaf(void) {
  sigset_t all, before;
  pthread_t thread;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (start_thread(&thread, NULL, sleep_deaf, NULL) == 0) threads++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

__attribute__((constructor)) static void start(void) {
  sem_init(&heard, 0, 0);
  sem_init(&hearing, 0, 0);
  *(void **)&start_thread = dlsym(RTLD_NEXT, "pthread_create");
  start_deaf();
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument) {
  if (start_thread && threads < 8) start_deaf();
  return start_thread(thread, attr, run, argument);
}

int hear(void) {
  int n = threads;
  for (int i = 0; i < n; i++) sem_post(&hearing);
  for (int i = 0; i < n; i++) while (sem_wait(&heard));
  return n;
}
`

// TestDeafThread_WorkerStarts beside threads that no signal reaches, for which it once waited without end, and sends
// them nothing that would end it later.
func TestDeafThread_WorkerStarts(t *testing.T) {
	t.Parallel()
	source := filepath.Join(harness.NewFolder(t, "deaf.c", deafThread), "deaf.c")
	library := harness.SharedLibrary(t, "libdeaf.so", source)
	dir := harness.NewFolder(t, "run.py", "import ctypes\n\n\ndef run() -> int:\n    return ctypes.CDLL(None).hear()\n")
	s := harness.Ready(t, harness.Options{Dir: dir, Env: []string{"LD_PRELOAD=" + library}})
	// One was started before Go, and others beside its threads.
	got := string(s.Succeed(map[string]any{}).Output)
	assert.True(t, got >= "2", "%s threads took what waited for them, want 2 or more", got)
}
