// Functions that write in a thread which its prediction left behind; see leftover_threads.py.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static void put(int fd, const char *text) {
  if (write(fd, text, strlen(text)) < 0) _exit(99);
}

// say writes by write and writev, and to a duplicated descriptor.
void say(void) {
  while (access("go", F_OK) != 0) usleep(5000);
  put(1, "a leftover says\n");
  struct iovec parts[] = {{"a leftover ", 11}, {"complains\n", 10}};
  if (writev(2, parts, 2) < 0) _exit(99);
  put(dup(1), "a leftover's line without an end");
  close(creat("done", 0600));
}

// say_by_stdio writes through C's streams.
void say_by_stdio(void) {
  while (access("go", F_OK) != 0) usleep(5000);
  printf("a %s ", "leftover");
  fputs("say", stdout);
  fwrite("s", 1, 1, stdout);
  putchar('\n');
  fprintf(stderr, "a leftover %s", "complains\n");
  puts("a leftover's other line");
  fputs("a leftover's line without an end", stdout);
  fflush(stdout);
  close(creat("done", 0600));
}

static void *run(void *unused) {
  say();
  return unused;
}

// start runs say in a thread that Python does not know.
void start(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, NULL) != 0) _exit(99);
  pthread_detach(thread);
}

static pthread_t writer;
static volatile int ended;

static void *write_on(void *by_stdio) {
  while (!ended)
    if (by_stdio)
      puts("of an earlier one");
    else
      put(1, "of an earlier one\n");
  return NULL;
}

// start_writing makes a thread write until stop_writing, also after its prediction has ended.
void start_writing(int by_stdio) {
  ended = 0;
  if (pthread_create(&writer, NULL, write_on, by_stdio ? &writer : NULL) != 0) _exit(99);
}

void stop_writing(void) {
  ended = 1;
  pthread_join(writer, NULL);
}
