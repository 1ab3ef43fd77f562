// Tests of the C code that Go cannot make: of forks, exits, signal masks and buffers. The Go
// test compiles this with the package's C files and a sanitizer, and runs one case at a time:
// ctest CASE LIBRARY. Exit code 0 is a pass.
#define _GNU_SOURCE
#include "../px_cuda.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(cond) \
  do { \
    if (!(cond)) { \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
      exit(1); \
    } \
  } while (0)

struct counts {
  int init, retained, released, pushed, popped;
};

static const char fixes[] =
    "100\0no_device\0N\0fix for 100\0"
    "999\0failed\0N\0fix for 999\0"
    "hanging\0hanging\0\0fix for hanging\0"
    "forked\0forked\0\0fix for forked\0"
    "no_library\0absent\0\0fix for no_library\0"
    "other\0failed\0\0fix for other";  // the literal's own NUL ends the last field

static struct px_cuda_report report;

static int start(const char *library, int hang_ms) {
  struct px_cuda_options options = {
      .library = library, .device_node = "/nonexistent", .hang_ms = hang_ms, .fixes = fixes, .fixes_len = sizeof fixes};
  return px_cuda_start(&options);
}

static struct counts *fake_counts(const char *library) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  CHECK(handle);
  struct counts *(*get)(void);
  void *symbol = dlsym(handle, "fake_counts");
  CHECK(symbol);
  memcpy(&get, &symbol, sizeof get);
  return get();
}

// Prints each allowed pair of states; the Go test compares the lines.
static void test_moves(const char *library) {
  (void)library;
  for (int from = -1; from <= PX_CUDA_STATES; from++)
    for (int to = -1; to <= PX_CUDA_STATES; to++)
      if (px_cuda_may_move(from, to)) printf("%s %s\n", px_cuda_state_name(from), px_cuda_state_name(to));
  CHECK(strcmp(px_cuda_state_name(-1), "unknown") == 0);
  CHECK(strcmp(px_cuda_state_name(PX_CUDA_STATES), "unknown") == 0);
}

static void test_off(const char *library) {
  (void)library;
  char buf[256];
  CHECK(px_cuda_state() == PX_CUDA_OFF);
  CHECK(px_cuda_wait(-1, &report) == 0 && report.state == PX_CUDA_OFF);
  CHECK(px_cuda_wait(-1, NULL) == 0);
  size_t n = px_cuda_report_json(buf, sizeof buf, -1);
  CHECK(n == strlen(buf) && strstr(buf, "{\"state\":\"off\"") == buf);
}

static void test_options(const char *library) {
  struct px_cuda_options good = {
      .library = library, .device_node = "/nonexistent", .hang_ms = 60000, .fixes = fixes, .fixes_len = sizeof fixes};
  struct px_cuda_options bad = good;
  bad.fixes_len = sizeof fixes - 1;  // the last field is not ended
  CHECK(px_cuda_start(&bad) == EINVAL);
  bad.fixes_len = 4;  // one field of four
  CHECK(px_cuda_start(&bad) == EINVAL);
  bad = good;
  bad.fixes_len = PX_CUDA_FIXES_MAX + 1;
  CHECK(px_cuda_start(&bad) == EINVAL);
  bad = good;
  bad.hang_ms = 0;
  CHECK(px_cuda_start(&bad) == EINVAL);
  char *long_path = malloc(5000);
  CHECK(long_path);
  memset(long_path, 'x', 4999);
  long_path[4999] = '\0';
  bad = good;
  bad.library = long_path;
  CHECK(px_cuda_start(&bad) == EINVAL);
  bad = good;
  bad.device_node = long_path;
  CHECK(px_cuda_start(&bad) == EINVAL);
  free(long_path);
  CHECK(px_cuda_state() == PX_CUDA_OFF);
  good.fixes = NULL;
  good.fixes_len = 0;
  CHECK(px_cuda_start(&good) == 0);
  CHECK(px_cuda_start(&good) == EALREADY);
  CHECK(px_cuda_wait(-1, &report) == 1 && report.state == PX_CUDA_READY);
}

// The context stays retained and no thread is left with it on its stack.
static void test_context(const char *library) {
  CHECK(start(library, 60000) == 0);
  CHECK(px_cuda_wait(-1, &report) == 1);
  struct counts *counts = fake_counts(library);
  CHECK(counts->init == 1);
  CHECK(counts->pushed == counts->popped);
  if (report.state == PX_CUDA_READY)
    CHECK(counts->retained == 1 && counts->released == 0);
  else
    CHECK(counts->retained == counts->released);
  printf("%s\n", px_cuda_state_name(report.state));
}

static void test_buffer(const char *library) {
  CHECK(start(library, 60000) == 0);
  CHECK(px_cuda_wait(-1, NULL) == 1);
  size_t need = px_cuda_report_json(NULL, 0, 0);
  CHECK(need > 100);
  for (size_t cap = 1; cap <= need + 2; cap++) {
    char *buf = malloc(cap);  // of this very size, so that ASan sees one byte too many
    CHECK(buf);
    memset(buf, 'x', cap);
    CHECK(px_cuda_report_json(buf, cap, 0) == need);
    CHECK(strlen(buf) == (cap > need ? need : 0));
    free(buf);
  }
}

// A model may set a locale whose decimal point is a comma.
static void test_locale(const char *library) {
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
  const char *set = NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0] && !set; i++) set = setlocale(LC_ALL, names[i]);
  CHECK(start(library, 60000) == 0);
  CHECK(px_cuda_wait(-1, NULL) == 1);
  char buf[8192];
  CHECK(px_cuda_report_json(buf, sizeof buf, 0) < sizeof buf);
  const char *seconds = strstr(buf, "\"seconds\":");
  CHECK(seconds);
  seconds += strlen("\"seconds\":");
  CHECK(seconds[strspn(seconds, "0123456789")] == '.');
  printf("%s\n", set ? set : "no such locale here");
}

static int signals_blocked(int task, unsigned long long *mask, char *name, size_t cap) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/self/task/%d/status", task);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  int found = 0;
  while (fgets(line, sizeof line, file)) {
    char *value = strchr(line, '\t');
    if (strncmp(line, "Name:", 5) == 0 && value) {
      snprintf(name, cap, "%.*s", (int)strcspn(value + 1, "\n"), value + 1);
    }
    found |= sscanf(line, "SigBlk: %llx", mask) == 1;
  }
  fclose(file);
  return found;
}

// The side thread hangs in cuInit (mode hang); /proc has the signals that it blocks.
static void test_signals(const char *library) {
  CHECK(start(library, 200) == 0);
  CHECK(px_cuda_wait(-1, &report) == 0 && report.state == PX_CUDA_HANGING);
  unsigned long long mask = 0, mine = 0;
  char name[32];
  int seen = 0;
  CHECK(signals_blocked(getpid(), &mine, name, sizeof name));
  CHECK(mine == 0);  // the caller's own mask is unchanged
  DIR *dir = opendir("/proc/self/task");
  CHECK(dir);
  for (struct dirent *entry; (entry = readdir(dir));) {
    if (!signals_blocked(atoi(entry->d_name), &mask, name, sizeof name) || strcmp(name, "px-cuda") != 0) continue;
    seen++;
    static const int blocked[] = {SIGINT,  SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD,
                                  SIGALRM, SIGHUP,  SIGPIPE, SIGPROF, SIGURG};
    static const int open_ones[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof blocked / sizeof blocked[0]; i++) CHECK(mask & 1ull << (blocked[i] - 1));
    for (size_t i = 0; i < sizeof open_ones / sizeof open_ones[0]; i++) CHECK(!(mask & 1ull << (open_ones[i] - 1)));
  }
  closedir(dir);
  CHECK(seen == 1);
  _exit(0);  // without exit handlers, which are test_exit's case
}

// The process ends although the driver hangs.
static void test_exit(const char *library) {
  CHECK(start(library, 100) == 0);
  CHECK(px_cuda_wait(-1, &report) == 0 && report.state == PX_CUDA_HANGING);
  CHECK(strstr(report.error, "in cuInit"));
  CHECK(strcmp(report.fix, "fix for hanging") == 0);
  CHECK(px_cuda_state() == PX_CUDA_HANGING);
  CHECK(px_cuda_wait(3600 * 1000, NULL) == 0);  // waits no longer, once it hangs
  exit(0);
}

static void *wait_for_end(void *out) {
  *(int *)out = px_cuda_wait(-1, NULL);
  return NULL;
}

// starting, then ready; several threads wait meanwhile. The mode is gate=FIFO.
static void test_gate(const char *library) {
  const char *fifo = strchr(getenv("FAKECUDA"), '=') + 1;
  pthread_t threads[4];
  int ended[4] = {0};
  CHECK(start(library, 3600 * 1000) == 0);
  CHECK(px_cuda_state() == PX_CUDA_STARTING);
  CHECK(px_cuda_wait(0, &report) == 0 && report.state == PX_CUDA_STARTING);
  CHECK(px_cuda_wait(20, &report) == 0 && report.state == PX_CUDA_STARTING && report.error[0] == '\0');
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, wait_for_end, &ended[i]) == 0);
  int fd = open(fifo, O_WRONLY);
  CHECK(fd >= 0 && write(fd, "x", 1) == 1);
  close(fd);
  CHECK(px_cuda_wait(-1, &report) == 1 && report.state == PX_CUDA_READY);
  for (int i = 0; i < 4; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(ended[i] == 1);
  }
  CHECK(px_cuda_state() == PX_CUDA_READY);
}

// A start that hangs, and succeeds later.
static void test_late(const char *library) {
  const char *fifo = strchr(getenv("FAKECUDA"), '=') + 1;
  CHECK(start(library, 50) == 0);
  CHECK(px_cuda_wait(-1, &report) == 0 && report.state == PX_CUDA_HANGING);
  int fd = open(fifo, O_WRONLY);
  CHECK(fd >= 0 && write(fd, "x", 1) == 1);
  close(fd);
  while (px_cuda_state() == PX_CUDA_HANGING) poll(NULL, 0, 1);
  CHECK(px_cuda_wait(0, &report) == 1 && report.state == PX_CUDA_READY && report.error[0] == '\0');
}

// The state in a forked child, and that nothing there waits. Returns the child's exit code.
static int fork_and_look(void) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    static char buf[4096];
    alarm(20);  // a child that hangs fails the test instead of holding it
    int bad = px_cuda_state() != PX_CUDA_FORKED;
    bad |= px_cuda_wait(-1, &report) != 0 || report.state != PX_CUDA_FORKED;
    bad |= strcmp(report.fix, "fix for forked") != 0 || report.device_count != 0;
    size_t n = px_cuda_report_json(buf, sizeof buf, -1);
    bad |= n != strlen(buf) || strstr(buf, "{\"state\":\"forked\"") != buf;
    void *lib = dlopen("libm.so.6", RTLD_NOW);  // the loader must work
    bad |= !lib;
    _exit(bad ? 3 : 0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void test_fork_after(const char *library) {
  CHECK(start(library, 60000) == 0);
  CHECK(px_cuda_wait(-1, &report) == 1);
  CHECK(fork_and_look() == 0);
  CHECK(px_cuda_state() == PX_CUDA_READY);  // the parent goes on
}

static void test_fork_while_hanging(const char *library) {
  CHECK(start(library, 100) == 0);
  CHECK(px_cuda_wait(-1, NULL) == 0);
  CHECK(fork_and_look() == 0);
  _exit(0);
}

static atomic_int gate_opened;
static sem_t in_dlopen;

static void *open_later(void *fifo) {
  int fd = open(fifo, O_WRONLY);  // returns once the library's constructor reads
  CHECK(fd >= 0 && sem_post(&in_dlopen) == 0);
  poll(NULL, 0, 100);  // let the fork begin; in either order, the check below holds
  atomic_store(&gate_opened, 1);
  CHECK(write(fd, "x", 1) == 1);
  close(fd);
  return NULL;
}

// A fork in the middle of dlopen (mode loadgate) waits for its end.
static void test_fork_while_loading(const char *library) {
  pthread_t opener;
  CHECK(sem_init(&in_dlopen, 0, 0) == 0);
  CHECK(start(library, 60000) == 0);
  CHECK(pthread_create(&opener, NULL, open_later, strchr(getenv("FAKECUDA"), '=') + 1) == 0);
  CHECK(pthread_detach(opener) == 0);  // the child, which has no such thread, has none to join
  while (sem_wait(&in_dlopen) != 0) CHECK(errno == EINTR);
  time_t before = time(NULL);
  CHECK(fork_and_look() == 0);
  // The fork may stop waiting after 2 s, which happens on a stalled machine only.
  CHECK(atomic_load(&gate_opened) || time(NULL) - before >= 2);
  CHECK(px_cuda_wait(-1, &report) == 1 && report.state == PX_CUDA_READY);
}

static void test_fork_before(const char *library) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {  // a child may start the driver if its parent has not
    int bad = start(library, 60000) != 0;
    bad |= px_cuda_wait(-1, &report) != 1 || report.state != PX_CUDA_READY;
    _exit(bad ? 3 : 0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(px_cuda_state() == PX_CUDA_OFF);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(const char *library);
  } tests[] = {
      {"moves", test_moves},
      {"off", test_off},
      {"options", test_options},
      {"context", test_context},
      {"buffer", test_buffer},
      {"locale", test_locale},
      {"signals", test_signals},
      {"exit", test_exit},
      {"gate", test_gate},
      {"late", test_late},
      {"fork_after", test_fork_after},
      {"fork_while_hanging", test_fork_while_hanging},
      {"fork_while_loading", test_fork_while_loading},
      {"fork_before", test_fork_before},
  };
  CHECK(argc == 3);
  for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
    if (strcmp(tests[i].name, argv[1]) == 0) {
      tests[i].run(argv[2]);
      return 0;
    }
  fprintf(stderr, "no case %s\n", argv[1]);
  return 2;
}
