// The flusher: the thread that sends what main has queued and is too busy to send.
#include "channel_flusher.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "channel_worker.h"

#define PX_BACKSTOP 100000     // ns after which the flusher sends what main did not
#define PX_RETRY 1000000       // ns until it tries a full socket again
#define PX_LOG_FIRST 1000000   // ns until the first look at what a watched prediction wrote
#define PX_LOG_EVERY 50000000  // ns between two looks

static struct {
  int fd;              // a timerfd
  pthread_mutex_t mu;  // a leaf; guards the rest
  uint64_t due;        // ns, monotonic: when all that is queued must be sent; 0: never
  struct px_channel *only;  // the one channel that asked for that, or NULL
  uint64_t log_due;    // when to look at what the watched prediction wrote, or 0
  bool (*flush)(struct px_channel *), (*look)(void);  // see px_flusher_start
} timer = {.mu = PTHREAD_MUTEX_INITIALIZER};

// set_timer sets the timer to what is due first. mu is held.
static void set_timer(void) {
  uint64_t at = timer.due;
  if (timer.log_due && (!at || timer.log_due < at)) at = timer.log_due;
  struct itimerspec t = {.it_value = {.tv_sec = (time_t)(at / 1000000000), .tv_nsec = (long)(at % 1000000000)}};
  timerfd_settime(timer.fd, TFD_TIMER_ABSTIME, &t, NULL);
}

// Setting a timer is expensive on some virtual machines, so one that fires between the two times stays as it is. While
// only one channel has asked, nothing of its earlier frames is left, and a timer that fires too soon may be put off.
void px_flusher_arm_between(struct px_channel *ch, uint64_t soonest, uint64_t latest) {
  pthread_mutex_lock(&timer.mu);
  if (timer.due == 0)
    timer.only = ch;
  else if (timer.only != ch)
    timer.only = NULL;
  if (timer.due == 0 || latest < timer.due || (timer.only && timer.due < soonest)) {
    timer.due = latest;
    set_timer();
  }
  pthread_mutex_unlock(&timer.mu);
}

static void arm_after(struct px_channel *ch, uint64_t ns) {
  uint64_t now = px_now();
  px_flusher_arm_between(ch, now + ns, now + ns + PX_LATE);
}

void px_flusher_arm_loop(void) {
  static struct px_channel loop;  // stands for all channels: an event loop flushes them together
  arm_after(&loop, PX_BACKSTOP);
}

void px_flusher_arm_for(struct px_channel *ch) {
  ch = ch->wire;
  pthread_mutex_lock(&ch->mu);
  bool arm = ch->out.len > 0 && ch->armed_for != ch->unsent_since;
  if (arm) ch->armed_for = ch->unsent_since;
  arm = arm && !ch->emit_armed;  // emitted frames leave sooner, and all else with them
  pthread_mutex_unlock(&ch->mu);
  if (arm) arm_after(ch, PX_BACKSTOP);
}

static void watch_in(uint64_t ns) {
  pthread_mutex_lock(&timer.mu);
  timer.log_due = px_now() + ns;
  set_timer();
  pthread_mutex_unlock(&timer.mu);
}

void px_flusher_watch(void) { watch_in(PX_LOG_FIRST); }

// expired notes that the timer fired. true: it is time to look at the log pipes.
static bool expired(void) {
  pthread_mutex_lock(&timer.mu);
  timer.due = 0;
  timer.only = NULL;
  bool look = timer.log_due && px_now() >= timer.log_due;
  if (look)
    timer.log_due = 0;
  else if (timer.log_due)
    set_timer();
  pthread_mutex_unlock(&timer.mu);
  return look;
}

static void *flusher(void *unused) {
  (void)unused;
  for (;;) {
    uint64_t expirations;
    ssize_t n = read(timer.fd, &expirations, sizeof expirations);
    if (n < 0 && errno != EINTR) return NULL;
    if (expired() && timer.look()) watch_in(PX_LOG_EVERY);
    pthread_mutex_lock(&px_w.mu);
    int count = px_w.nslots;
    pthread_mutex_unlock(&px_w.mu);
    bool left = false;
    for (int i = 0; i < count; i++) left |= !timer.flush(px_w.slots[i]);
    if (left) arm_after(NULL, PX_RETRY);
  }
}

int px_flusher_start(bool (*flush)(struct px_channel *), bool (*look)(void)) {
  timer.flush = flush;
  timer.look = look;
  timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  if (timer.fd < 0) return -1;
  pthread_t thread;
  return px_create_thread(&thread, flusher);
}

void px_flusher_abandon(void) {
  pthread_mutex_init(&timer.mu, NULL);
  if (timer.fd > 0) close(timer.fd);
  timer.fd = -1;
}
