// Waiting for what comes, and not going to sleep where that is soon over.
#define _GNU_SOURCE  // ppoll
#include "px_worker.h"

#include <poll.h>

#define PX_PROMPT 16  // so many short waits in a row, and the next is taken to be one
#define PX_RELAPSE 4  // what one that was not quite short counts

int px_wait(int fd, unsigned *prompt, int64_t most) {
  struct pollfd one = {fd, POLLIN, 0};
  uint64_t spin = prompt ? atomic_load(&px_w.page->spin) : 0, began = px_now(), gone;
  if (spin && *prompt == PX_PROMPT) {
    do {
      int n = poll(&one, 1, 0);
      if (n != 0) return n;
      gone = px_now() - began;
      if (most >= 0 && gone >= (uint64_t)most) return 0;
    } while (gone < spin);
    *prompt -= PX_RELAPSE;
    most -= (int64_t)gone;  // it stays below 0, or not
  }
  struct timespec limit = {most / 1000000000, most % 1000000000};
  int n = ppoll(&one, 1, most < 0 ? NULL : &limit, NULL);
  if (prompt) {
    bool was = spin && px_now() - began < spin + spin / 2;  // the time that it took to wake up is in that
    *prompt = was ? *prompt + 1 : 0;
  }
  return n;
}
