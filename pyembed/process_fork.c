// What must not survive a fork, and what Go must not keep of the signals.
#define _GNU_SOURCE  // dladdr
#include "process_fork.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "channel_flusher.h"
#include "process_foreign.h"
#include "process_pipes.h"
#include "codec_views.h"
#include "channel_worker.h"

static void set_default(int sig) {
  struct sigaction act = {.sa_handler = SIG_DFL};
  sigemptyset(&act.sa_mask);
  sigaction(sig, &act, NULL);
}

// What the process had before Go started: it takes every signal, and raises the limit of open files.
static struct {
  struct rlimit files;
  sigset_t blocked, ignored;
} inherited;

__attribute__((constructor)) static void note_inherited(void) {
  if (!getenv("PINION_WORKER")) return;
  getrlimit(RLIMIT_NOFILE, &inherited.files);
  sigprocmask(SIG_SETMASK, NULL, &inherited.blocked);
  sigemptyset(&inherited.ignored);
  for (int sig = 1; sig < NSIG; sig++) {
    struct sigaction act;
    if (sigaction(sig, NULL, &act) == 0 && act.sa_handler == SIG_IGN) sigaddset(&inherited.ignored, sig);
  }
}

#define MAX_GO_THREADS 64

static _Atomic int blocking_threads;

// block_all makes the thread that it interrupts block every signal once it returns. It must not write behind the
// kernel's mask, which is shorter than glibc's.
static void block_all(int number, siginfo_t *info, void *context) {
  (void)number, (void)info;
  ucontext_t *interrupted = context;
  for (int sig = 1; sig < NSIG; sig++) sigaddset(&interrupted->uc_sigmask, sig);
  atomic_fetch_add(&blocking_threads, 1);
}

static bool includes(const int *list, int n, int value) {
  for (int i = 0; i < n; i++)
    if (list[i] == value) return true;
  return false;
}

// signal_others sends the other threads a signal, but those in the list signaled, which it adds them to. Their new
// number.
static int signal_others(int number, int *signaled, int n) {
  int self = getpid();
  DIR *dir = opendir("/proc/self/task");
  if (!dir) return n;
  for (struct dirent *e; (e = readdir(dir)) && n < MAX_GO_THREADS;) {
    int tid = atoi(e->d_name);
    if (tid <= 0 || tid == self || includes(signaled, n, tid)) continue;
    if (syscall(SYS_tgkill, self, tid, number) == 0) signaled[n++] = tid;
  }
  closedir(dir);
  return n;
}

// have_ended returns how many of these threads have ended.
static int have_ended(const int *tids, int n) {
  int ended = 0;
  for (int i = 0; i < n; i++) ended += syscall(SYS_tgkill, getpid(), tids[i], 0) < 0;
  return ended;
}

// sleeps tells whether a thread of this process sleeps, and adds to switches how often it stopped running.
static bool sleeps(int tid, unsigned long long *switches) {
  char name[64], line[256], state = 'S';  // of a thread that has ended meanwhile
  snprintf(name, sizeof name, "/proc/self/task/%d/status", tid);
  FILE *f = fopen(name, "re");
  if (!f) return true;
  unsigned long long n;
  while (fgets(line, sizeof line, f)) {
    sscanf(line, "State: %c", &state);
    if (sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1 ||
        sscanf(line, "nonvoluntary_ctxt_switches: %llu", &n) == 1)
      *switches += n;
  }
  fclose(f);
  return state == 'S';
}

// all_sleep tells whether all of these threads sleep, and sets switches to how often they stopped running.
static bool all_sleep(const int *tids, int n, unsigned long long *switches) {
  *switches = 0;
  for (int i = 0; i < n; i++)
    if (!sleeps(tids[i], switches)) return false;
  return true;
}

// all_idle tells whether there was a moment at which all of these threads slept, for none ran between two looks at
// them. None of them holds a lock then, and one that has not taken its signal waits neither for a lock nor for its
// start.
static bool all_idle(const int *tids, int n) {
  unsigned long long first, second;
  return all_sleep(tids, n, &first) && all_sleep(tids, n, &second) && first == second;
}

int px_block_signals(void) {
  const int number = SIGSTKFLT;  // Go never blocks it, and Linux never sends it
  struct sigaction act = {.sa_sigaction = block_all, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART}, before;
  sigfillset(&act.sa_mask);
  if (sigaction(number, &act, &before) < 0) return 0;
  int signaled[MAX_GO_THREADS], n = 0;
  for (int had = -1; had < n;) {
    had = n;
    n = signal_others(number, signaled, n);
    // Go's threads block signals for a moment, while they start. Those of other libraries may always do: of jemalloc,
    // of QEMU. They are left as they are.
    while (atomic_load(&blocking_threads) + have_ended(signaled, n) < n && !all_idle(signaled, n)) sched_yield();
  }
  signal(number, SIG_IGN);  // drops what they have not taken, which would end the process once they do
  sigaction(number, &before, NULL);
  return n;
}

void px_inherited_restore(void) {
  if (inherited.files.rlim_max > 0) setrlimit(RLIMIT_NOFILE, &inherited.files);
  pthread_sigmask(SIG_SETMASK, &inherited.blocked, NULL);
}

void px_signals_default(void) {
  for (int sig = 1; sig < NSIG; sig++) {
    struct sigaction act;
    if (sig == SIGKILL || sig == SIGSTOP || sigaction(sig, NULL, &act) < 0) continue;
    if (act.sa_handler == SIG_IGN || act.sa_handler == SIG_DFL) continue;
    if (sigismember(&inherited.ignored, sig))
      signal(sig, SIG_IGN);
    else
      set_default(sig);
  }
}

// ours tells whether a handler lies in libpython or a library that the model loaded. Go's handlers wait for goroutines
// that no child has.
static bool ours(void (*handler)(int)) {
  Dl_info at, self;
  if (!dladdr((void *)(uintptr_t)handler, &at) || !at.dli_fbase) return false;
  if (!dladdr((void *)(uintptr_t)px_fork_hook, &self)) return true;
  return at.dli_fbase != self.dli_fbase;
}

static void drop(int *fd) {
  close(*fd);
  *fd = -1;
}

// abandon closes a channel in a forked child. It makes a new mutex: a thread that the child does not have may have held
// the old one at the fork.
static void abandon(struct px_channel *ch) {
  drop(&ch->fd);
  pthread_mutex_init(&ch->mu, NULL);
  ch->broken = true;
}

// A leftover's fork gives its child these streams. Of this thread, from before the fork on.
static __thread int unattributed[2];
static __thread bool decided;

void px_fork_to(const int streams[2]) {
  memcpy(unattributed, streams, sizeof unattributed);
  decided = true;
}

static void before(void) {
  if (!decided) px_pipes_before_child(unattributed, false);
  decided = false;
  px_views_before_fork();
  px_guard();
}

static void after(void) {
  px_unguard();
  px_views_after_fork();
}

static void before_in_preload(void) {
  px_foreign_find();
  before();  // of a worker that was forked from it
}

static void in_child(void) {
  after();
  if (!px_w.forking_worker && !atomic_load(&px_w.is_child))
    for (int i = 0; i < 2; i++)
      if (unattributed[i] >= 0 && px_w.page) dup2(unattributed[i], 1 + i);
  // Once: when the child forks again, these descriptors may be its own files.
  if (!px_w.forking_worker && !atomic_exchange(&px_w.is_child, true)) {
    pthread_mutex_init(&px_w.mu, NULL);
    pthread_mutex_init(&px_w.log_mu, NULL);
    px_flusher_abandon();
    abandon(&px_w.control);
    if (px_w.page) {  // else it is the preload process's child, which has nothing else
      for (int i = 0; i < px_w.nslots; i++) abandon(px_w.slots[i]);
      for (int i = 0; i < 2; i++) {
        drop(&px_w.log_fd[i]);
        if (px_w.own_fd[i] > 0) drop(&px_w.own_fd[i]);
        if (px_w.unattributed[i] > 0) drop(&px_w.unattributed[i]);
      }
    }
  }
  for (int sig = 1; sig < NSIG; sig++) {
    struct sigaction act;
    if (sigaction(sig, NULL, &act) < 0) continue;
    if (act.sa_handler == SIG_DFL || act.sa_handler == SIG_IGN) continue;
    if (!ours(act.sa_handler)) set_default(sig);
  }
}

int px_fork_hook(bool preload) {
  return pthread_atfork(preload ? before_in_preload : before, after, in_child) == 0 ? 0 : -1;
}
