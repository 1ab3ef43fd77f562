// The control thread: it takes in slot sockets, answers pings, and ends the process when the front is gone. It does not
// depend on Python.
#include "serving_control.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process_end.h"
#include "channel_flusher.h"
#include "interpreter_interrupt.h"
#include "interpreter_logs.h"
#include "process_pipes.h"
#include "channel_receive.h"
#include "channel_send.h"
#include "interpreter_stack.h"
#include "process_threads.h"
#include "channel_worker.h"

static void add_slot(int fd) {
  pthread_mutex_lock(&px_w.mu);
  int n = px_w.nslots;
  struct px_channel *ch = n < PX_MAX_SLOTS ? px_malloc(sizeof *ch) : NULL;
  if (ch && px_channel_init(ch, fd, &px_w.page->slots[n], &px_w.page->outs[n]) == 0) {
    px_w.slots[n] = ch;
    px_w.nslots = n + 1;
  } else {  // most often for a limit that the model has set: an orderly end would hide that
    fprintf(stderr, "pinion worker: make slot %d: %s\n", n, strerror(errno));
    _exit(1);
  }
  pthread_cond_broadcast(&px_w.changed);
  pthread_mutex_unlock(&px_w.mu);
}

// stop makes the serve loop end after the requests that lie in its sockets.
static void stop(void) {
  pthread_mutex_lock(&px_w.mu);
  px_w.stopping = true;
  for (int i = 0; i < px_w.nslots; i++) shutdown(px_w.slots[i]->fd, SHUT_RD);
  pthread_cond_broadcast(&px_w.changed);
  pthread_mutex_unlock(&px_w.mu);
}

// answer answers a ping of the front.
static void answer(uint64_t id) {
  if (px_channel_put(&px_w.control, PX_PONG, id, 0, "", 0) == 0) px_channel_flush(&px_w.control, true);
}

// ask_health notes that the front wants the model's own check run.
static void ask_health(uint64_t id) {
  pthread_mutex_lock(&px_w.mu);
  px_w.health = id;
  pthread_cond_broadcast(&px_w.changed);
  pthread_mutex_unlock(&px_w.mu);
}

uint64_t px_wait_health(void) {
  pthread_mutex_lock(&px_w.mu);
  while (px_w.health == 0 && !px_w.stopping) pthread_cond_wait(&px_w.changed, &px_w.mu);
  uint64_t id = px_w.stopping ? 0 : px_w.health;
  px_w.health = 0;
  pthread_mutex_unlock(&px_w.mu);
  return id;
}

static void *control(void *unused) {
  (void)unused;
  struct px_channel *ch = &px_w.control;
  for (;;) {
    int n = px_channel_fill(ch, true);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) px_end_all();
    struct px_frame f;
    while ((n = px_channel_next(ch, &f)) > 0) {
      if (f.kind == PX_SLOT && f.fd >= 0) add_slot(f.fd);
      if (f.kind == PX_SHUTDOWN) stop();
      if (f.kind == PX_HEALTH) ask_health(f.id);
      if (f.kind == PX_INTERRUPT) {
        atomic_store(&px_w.page->interrupt, 0);  // before main looks
        px_interrupt_wake();
      }
      if (f.kind == PX_PING) answer(f.id);
      if (f.kind == PX_ASK_STACK) px_stack_ask(f.id);
      px_frame_done(&f);
    }
    if (n < 0) px_end_all();
  }
  return NULL;
}

static int start_control(void) {
  pthread_t thread;
  return px_create_thread(&thread, control);
}

static void *cuda_reporter(void *unused) {
  (void)unused;
  const size_t cap = (size_t)64 << 10;  // 64 devices with long names need half of it
  char *text = px_malloc(cap);
  if (!text) return NULL;  // health shows no report then
  size_t n = px_w.cuda_report(text, cap, -1);
  if (n < cap && px_channel_put(&px_w.control, PX_CUDA, 0, 0, text, n) == 0) px_channel_flush(&px_w.control, true);
  px_free(text);
  return NULL;
}

// start_cuda_reporter starts a thread that sends the front the report of CUDA's start, and ends. Without CUDA it does
// nothing. 0, or -1 with errno.
static int start_cuda_reporter(void) {
  pthread_t thread;
  if (!px_w.cuda_report) return 0;
  if (px_create_thread(&thread, cuda_reporter) < 0) return -1;
  pthread_detach(thread);
  return 0;
}

int px_start_threads(void) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int status =
      start_control() == 0 && px_flusher_start(px_channel_flush_due, px_log_live) == 0 && start_cuda_reporter() == 0
          ? 0
          : -1;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return status;
}

int px_failed(const char *what) {
  fprintf(stderr, "pinion worker: %s: %s\n", what, strerror(errno));
  return 1;
}

int px_connect(int control_fd, int page_fd) {
  void *page = mmap(NULL, PX_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);
  if (page == MAP_FAILED) return px_failed("map the shared page");
  px_w.page = page;
  close(page_fd);
  if (atomic_load(&px_w.page->magic) != PX_PAGE_MAGIC) {
    fprintf(stderr, "pinion worker: the shared page is another version's\n");
    return 1;
  }
  if (px_channel_init(&px_w.control, control_fd, NULL, NULL) < 0) return px_failed("make the control channel");
  if (px_logs_init() < 0) return px_failed("duplicate the log pipes");
  px_pipes_note();
  px_threads_init();
  return 0;
}
