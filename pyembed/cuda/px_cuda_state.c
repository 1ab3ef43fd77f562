#define _GNU_SOURCE  // pthread_setname_np
#include "px_cuda.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "px_cuda_probe.h"

static const char *const state_names[PX_CUDA_STATES] = {
    [PX_CUDA_OFF] = "off",
    [PX_CUDA_STARTING] = "starting",
    [PX_CUDA_ABSENT] = "absent",
    [PX_CUDA_NO_DEVICE] = "no_device",
    [PX_CUDA_DRIVER_TOO_OLD] = "driver_too_old",
    [PX_CUDA_FAILED] = "failed",
    [PX_CUDA_READY] = "ready",
    [PX_CUDA_HANGING] = "hanging",
    [PX_CUDA_FORKED] = "forked",
};

#define BIT(state) (1u << (state))
#define FINAL \
  (BIT(PX_CUDA_ABSENT) | BIT(PX_CUDA_NO_DEVICE) | BIT(PX_CUDA_DRIVER_TOO_OLD) | BIT(PX_CUDA_FAILED) | \
   BIT(PX_CUDA_READY))

// Where each state may go. The two views go nowhere: they are never stored.
static const unsigned moves[PX_CUDA_STATES] = {
    [PX_CUDA_OFF] = BIT(PX_CUDA_STARTING),
    [PX_CUDA_STARTING] = FINAL,
};

static const char *const step_names[PX_CUDA_STEPS] = {
    "while it is loaded",
    "in cuInit",
    "while it lists its devices",
    "in cuDevicePrimaryCtxRetain",
};

// How long a fork waits for dlopen to end. A loader that is held up for longer is broken, and
// the fork more important.
enum { FORK_WAIT_SECONDS = 2 };

// A process has one CUDA driver, hence one of these. It is static, not allocated: the side
// thread may outlive everything else when the process exits.
static struct {
  atomic_flag claimed;  // px_cuda_start runs or has run
  atomic_int state;  // never a view
  atomic_int forked;
  atomic_int step;
  atomic_int loading;  // from before the thread is made until dlopen has returned
  int64_t started_us;  // these: written before state leaves OFF
  int hang_ms;
  char library[4096], device_node[4096], fixes[PX_CUDA_FIXES_MAX];
  size_t fixes_len;
  pthread_mutex_t load_lock;  // held around dlopen, and by a fork around itself
  pthread_mutex_t lock;  // guards result and the wait for ended
  pthread_cond_t ended;
  struct px_cuda_report result;
} cuda = {
    .claimed = ATOMIC_FLAG_INIT,
    .load_lock = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

const char *px_cuda_state_name(int state) {
  return state >= 0 && state < PX_CUDA_STATES ? state_names[state] : "unknown";
}

int px_cuda_may_move(int from, int to) {
  return from >= 0 && from < PX_CUDA_STATES && to >= 0 && to < PX_CUDA_STATES && (moves[from] & BIT(to)) != 0;
}

static int state_named(const char *name) {
  for (int state = 0; state < PX_CUDA_STATES; state++)
    if (strcmp(state_names[state], name) == 0) return state;
  return PX_CUDA_FAILED;
}

const char *px_cuda_fix(const char *key, int *state) {
  const char *at = cuda.fixes, *end = cuda.fixes + cuda.fixes_len;
  const char *found = "", *found_state = "failed";
  while (at < end) {
    const char *field[4];
    for (int i = 0; i < 4; i++) {  // px_cuda_start has checked that all four are there
      field[i] = at;
      at += strlen(at) + 1;
    }
    int same = strcmp(field[0], key) == 0;
    if (same || strcmp(field[0], "other") == 0) {
      found_state = field[1];
      found = field[3];
    }
    if (same) break;
  }
  *state = state_named(found_state);
  return found;
}

// A fork in the middle of dlopen would leave the child with a loader that is half way through its
// tables. The side thread is the only one of ours that loads anything.
static _Thread_local int fork_holds_load_lock;

static void before_fork(void) {
  fork_holds_load_lock = 0;
  if (!atomic_load(&cuda.loading)) return;
  // pthread_mutex_timedlock waits until a time of day, and the clock of that may be set meanwhile.
  int64_t until_us = px_cuda_now_us() + FORK_WAIT_SECONDS * 1000000;
  for (;;) {
    fork_holds_load_lock = pthread_mutex_trylock(&cuda.load_lock) == 0;
    if (fork_holds_load_lock || px_cuda_now_us() >= until_us) return;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
}

static void after_fork_in_parent(void) {
  if (fork_holds_load_lock) pthread_mutex_unlock(&cuda.load_lock);
}

static void after_fork_in_child(void) {
  if (fork_holds_load_lock) pthread_mutex_unlock(&cuda.load_lock);
  // The side thread does not exist here, its locks may stay locked, and CUDA refuses to work in a fork. From here on
  // only the state is read.
  atomic_store(&cuda.forked, 1);
}

static void on_step(enum px_cuda_step step) {
  atomic_store(&cuda.step, (int)step);
  if (step != PX_CUDA_LOADING && atomic_exchange(&cuda.loading, 0)) pthread_mutex_unlock(&cuda.load_lock);
}

// Stores the result and wakes the waiting threads. An illegal state would be a fault of this package: it
// is reported as failed rather than lost.
static void finish(const struct px_cuda_report *result) {
  pthread_mutex_lock(&cuda.lock);
  cuda.result = *result;
  if (!px_cuda_may_move(PX_CUDA_STARTING, cuda.result.state)) cuda.result.state = PX_CUDA_FAILED;
  cuda.result.total_us = px_cuda_now_us() - cuda.started_us;
  atomic_store(&cuda.state, cuda.result.state);
  pthread_cond_broadcast(&cuda.ended);
  pthread_mutex_unlock(&cuda.lock);
}

static void *side_thread(void *unused) {
  (void)unused;
  static struct px_cuda_report result;  // this thread's alone, and too large for a small stack
  pthread_setname_np(pthread_self(), "px-cuda");
  pthread_mutex_lock(&cuda.load_lock);
  px_cuda_probe(cuda.library, cuda.device_node, on_step, &result);
  if (atomic_exchange(&cuda.loading, 0))  // it ended in the first step
    pthread_mutex_unlock(&cuda.load_lock);
  finish(&result);
  return NULL;
}

// Signals are for Python's main thread. The threads that the driver starts inherit this mask. Faults
// stay open: blocked, they would kill without the fault handler's traceback.
static void side_thread_mask(sigset_t *mask) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
  sigfillset(mask);
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) sigdelset(mask, faults[i]);
}

static int make_thread(void) {
  pthread_t thread;
  pthread_attr_t attr;
  sigset_t mask, old;
  int err = pthread_attr_init(&attr);
  if (err) return err;
  // Detached: joining it would delay the exit if the driver hangs.
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  side_thread_mask(&mask);
  pthread_sigmask(SIG_SETMASK, &mask, &old);
  err = pthread_create(&thread, &attr, side_thread, NULL);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  pthread_attr_destroy(&attr);
  return err;
}

// Copies what the options point to; EINVAL where it does not fit or the fixes are not whole records.
static int take_options(const struct px_cuda_options *options) {
  size_t fields = 0;
  if (strlen(options->library) >= sizeof cuda.library || strlen(options->device_node) >= sizeof cuda.device_node ||
      options->fixes_len > sizeof cuda.fixes || options->hang_ms <= 0)
    return EINVAL;
  for (size_t i = 0; i < options->fixes_len; i++) fields += options->fixes[i] == '\0';
  if (fields % 4 != 0 || (options->fixes_len > 0 && options->fixes[options->fixes_len - 1] != '\0')) return EINVAL;
  strcpy(cuda.library, options->library);
  strcpy(cuda.device_node, options->device_node);
  if (options->fixes_len > 0) memcpy(cuda.fixes, options->fixes, options->fixes_len);
  cuda.fixes_len = options->fixes_len;
  cuda.hang_ms = options->hang_ms;
  return 0;
}

int px_cuda_start(const struct px_cuda_options *options) {
  if (atomic_flag_test_and_set(&cuda.claimed)) return EALREADY;
  int err = take_options(options);
  if (err) {
    atomic_flag_clear(&cuda.claimed);  // nothing has begun: another try is welcome
    return err;
  }
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&cuda.ended, &attr);
  pthread_condattr_destroy(&attr);
  cuda.started_us = px_cuda_now_us();
  atomic_store(&cuda.loading, 1);
  atomic_store(&cuda.state, PX_CUDA_STARTING);
  err = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  if (!err) err = make_thread();
  if (err) {
    static struct px_cuda_report result;
    atomic_store(&cuda.loading, 0);
    snprintf(result.error, sizeof result.error, "no thread could be made to start the CUDA driver (error %d)", err);
    snprintf(result.fix, sizeof result.fix, "%s", px_cuda_fix("thread", &result.state));
    finish(&result);
  }
  return err;
}

static int64_t hang_us(void) { return cuda.started_us + (int64_t)cuda.hang_ms * 1000; }

int px_cuda_state(void) {
  int state = atomic_load(&cuda.state);
  if (state != PX_CUDA_OFF && atomic_load(&cuda.forked)) return PX_CUDA_FORKED;
  if (state == PX_CUDA_STARTING && px_cuda_now_us() >= hang_us()) return PX_CUDA_HANGING;
  return state;
}

// Reports a state that has no result yet, or no longer one that counts.
static void report_view(int state, struct px_cuda_report *out) {
  int ignored;
  memset(out, 0, sizeof *out);
  out->state = state;
  if (state == PX_CUDA_OFF) return;
  out->total_us = px_cuda_now_us() - cuda.started_us;
  if (state == PX_CUDA_HANGING) {
    snprintf(out->error, sizeof out->error, "the CUDA driver does not answer: it has hung %s for %lld s",
             step_names[atomic_load(&cuda.step)], (long long)(out->total_us / 1000000));
    snprintf(out->fix, sizeof out->fix, "%s", px_cuda_fix("hanging", &ignored));
  } else if (state == PX_CUDA_FORKED) {
    snprintf(out->error, sizeof out->error, "this process was forked after the CUDA driver had been started");
    snprintf(out->fix, sizeof out->fix, "%s", px_cuda_fix("forked", &ignored));
  }
}

int px_cuda_wait(int timeout_ms, struct px_cuda_report *out) {
  int state = px_cuda_state();
  if (state == PX_CUDA_OFF || state == PX_CUDA_FORKED) {
    if (out) report_view(state, out);
    return 0;
  }
  int64_t until_us = hang_us();
  if (timeout_ms >= 0 && px_cuda_now_us() + (int64_t)timeout_ms * 1000 < until_us)
    until_us = px_cuda_now_us() + (int64_t)timeout_ms * 1000;
  struct timespec until = {.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};

  pthread_mutex_lock(&cuda.lock);
  int err = 0;
  while (atomic_load(&cuda.state) == PX_CUDA_STARTING && err == 0)
    err = pthread_cond_timedwait(&cuda.ended, &cuda.lock, &until);
  int ended = atomic_load(&cuda.state) != PX_CUDA_STARTING;
  if (ended && out) *out = cuda.result;
  pthread_mutex_unlock(&cuda.lock);
  if (!ended && out) report_view(px_cuda_state() == PX_CUDA_HANGING ? PX_CUDA_HANGING : PX_CUDA_STARTING, out);
  return ended;
}
