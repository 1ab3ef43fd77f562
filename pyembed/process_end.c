// The end of a worker that has lost its control channel: the front is gone, or the model has closed the channel.
//
// The worker's descendants end with it, also those in sessions and groups of their own. Helpers such as
// multiprocessing's resource tracker do their work once everything else has ended, so they get a bounded time. The
// front does the same for a worker that ends otherwise: runtime/supervise/ending.go.
#define _GNU_SOURCE  // SYS_close_range, POLLRDHUP
#include "process_end.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "channel_worker.h"

#define MAX_PROCESSES 4096
#define END_GRACE_MS 500
#define HELPER_GRACE_MS 5000
#define STEP_MS 10

struct process {
  pid_t pid, parent, group;
  unsigned long long started;  // clock ticks since the machine's start
  bool ours;
};

// read_file reads the beginning of a file below /proc/PID; "" if the process has ended. Async-signal-safe but for
// snprintf, which allocates nothing for these formats.
static void read_file(pid_t pid, const char *name, char *text, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
  text[n > 0 ? n : 0] = '\0';
  if (fd >= 0) close(fd);
}

// stat_of reads the parent, the group and the start of a process; false if it has ended.
static bool stat_of(pid_t pid, struct process *p) {
  char text[512], state;
  int parent, group;
  unsigned long long started;
  read_file(pid, "stat", text, sizeof text);
  const char *rest = strrchr(text, ')');  // the name before it may hold any character
  const char *fields =
      " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu";  // proc_pid_stat(5)
  if (!rest || sscanf(rest + 1, fields, &state, &parent, &group, &started) != 4 || state == 'Z' || state == 'X')
    return false;
  *p = (struct process){.pid = pid, .parent = parent, .group = group, .started = started};
  return true;
}

// is_orphan tells whether a descendant has lost its parent and become a child of this worker's own: the front, or what
// adopts the front's orphans. All that the worker started has its oom_score_adj and its control groups. Services that
// have this score by chance have groups of their own.
static bool is_orphan(const struct process *p, const struct process *self) {
  unsigned long long score = atomic_load(&px_w.page->score);
  char text[4096], own[sizeof text];
  if (score == 0 || p->started < self->started) return false;
  if (p->parent != self->parent && p->parent != getppid()) return false;  // the front may be ending just now
  read_file(p->pid, "oom_score_adj", text, sizeof text);
  if (strtoull(text, NULL, 10) != score) return false;
  read_file(p->pid, "cgroup", text, sizeof text);
  read_file(self->pid, "cgroup", own, sizeof own);
  return strcmp(text, own) == 0;
}

// find_descendants lists the processes that this one has started, and those that they have. Their number.
static size_t find_descendants(struct process *found) {
  pid_t self = getpid();
  bool leader = getpgrp() == self;
  struct process own = {.pid = self};
  stat_of(self, &own);
  size_t n = 0;
  DIR *dir = opendir("/proc");
  if (!dir) return 0;
  for (struct dirent *e; (e = readdir(dir)) && n < MAX_PROCESSES;) {
    pid_t pid = atoi(e->d_name);
    if (pid <= 0 || pid == self || !stat_of(pid, &found[n])) continue;
    found[n].ours = found[n].parent == self || (leader && found[n].group == self) || is_orphan(&found[n], &own);
    n++;
  }
  closedir(dir);
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n && !found[i].ours; j++)
        if (found[j].ours && found[i].parent == found[j].pid) found[i].ours = grown = true;
  }
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (found[i].ours) found[kept++] = found[i];
  return kept;
}

// is_fork tells whether a process runs the same binary as this one. Such a copy is not a helper.
static bool is_fork(pid_t pid) {
  char path[64], own[4096], theirs[sizeof own];
  snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
  ssize_t n = readlink("/proc/self/exe", own, sizeof own), m = readlink(path, theirs, sizeof theirs);
  return n > 0 && n == m && memcmp(own, theirs, (size_t)n) == 0;
}

// await waits until all have ended; false: some are left after that time.
static bool await(struct process *all, size_t n, int milliseconds) {
  for (int waited = 0;; waited += STEP_MS) {
    bool left = false;
    struct process now;
    for (size_t i = 0; i < n; i++) {
      all[i].ours = all[i].ours && stat_of(all[i].pid, &now);
      left = left || all[i].ours;
    }
    if (!left) return true;
    if (waited >= milliseconds) return false;
    nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
  }
}

// has_term tells whether SIGTERM is in a set of signals of /proc/PID/status.
static bool has_term(const char *status, const char *name) {
  const char *line = strstr(status, name);
  return line && strtoull(line + strlen(name), NULL, 16) & UINT64_C(1) << (SIGTERM - 1);
}

// ask_to_end ends a process that has not ended by itself, unless it ignores SIGTERM, as resource trackers do, or blocks
// it, as they do while they start.
static void ask_to_end(pid_t pid) {
  char status[4096];
  read_file(pid, "status", status, sizeof status);
  if (has_term(status, "\nSigIgn:\t") || has_term(status, "\nSigBlk:\t") || strstr(status, "Name:\ttorch_shm_manag"))
    return;
  kill(pid, has_term(status, "\nSigCgt:\t") ? SIGTERM : SIGKILL);
}

// end_them runs in a process that nothing depends on.
static void end_them(struct process *all, size_t n) {
  if (await(all, n, END_GRACE_MS)) return;
  for (size_t i = 0; i < n; i++)
    if (all[i].ours) ask_to_end(all[i].pid);
  if (await(all, n, HELPER_GRACE_MS)) return;
  for (size_t i = 0; i < n; i++)
    if (all[i].ours) kill(all[i].pid, SIGKILL);
}

static void close_all(void) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 0U, ~0U, 0U) == 0) return;
#endif
  for (int fd = 0; fd < 65536; fd++) close(fd);
}

void px_await_end(void) {
  struct pollfd control = {.fd = px_w.control.fd, .events = POLLRDHUP};
  while (px_w.page && poll(&control, 1, 0) > 0 && control.revents & (POLLRDHUP | POLLHUP)) pause();
}

_Noreturn void px_end_all(void) {
  static struct process all[MAX_PROCESSES];  // no page of it is touched before
  atomic_store(&px_w.page->lost_control, 1);
  size_t n = find_descendants(all);
  for (size_t i = 0; i < n; i++) {
    if (!is_fork(all[i].pid)) continue;
    kill(all[i].pid, SIGKILL);
  }
  // Not fork(): handlers of libraries, and locks that other threads hold, are no concern of this child.
  if (n > 0 && syscall(SYS_clone, (unsigned long)SIGCHLD, 0UL, 0UL, 0UL, 0UL) == 0) {
    setsid();
    close_all();  // the helpers wait for the end of what this process holds open
    end_them(all, n);
    _exit(0);
  }
  kill(getpid(), SIGKILL);
  _exit(1);
}
