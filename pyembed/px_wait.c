// Waiting for what comes, and not going to sleep where that is soon over.
#define _GNU_SOURCE  // ppoll
#include "px_worker.h"

#include <poll.h>

#define PX_PROMPT 16  // so many short waits in a row, and the next is taken to be one
#define PX_RELAPSE 4  // what one that was not quite short counts

int px_wait(int fd, unsigned *prompt, int64_t most) {
  struct pollfd one = {fd, POLLIN, 0};
  struct timespec limit = {most / 1000000000, most % 1000000000};
  uint64_t spin = prompt ? atomic_load(&px_w.page->spin) : 0, began = spin ? px_now() : 0;
  if (spin && *prompt == PX_PROMPT) {
    bool short_of = most < 0 || (uint64_t)most > spin;
    uint64_t until = began + (short_of ? spin : (uint64_t)most);
    int n;
    do n = poll(&one, 1, 0);
    while (n == 0 && px_now() < until);
    if (n != 0 || !short_of) return n;
    *prompt -= PX_RELAPSE;
  }
  int n = ppoll(&one, 1, most < 0 ? NULL : &limit, NULL);
  if (prompt) {
    bool was = spin && px_now() - began < spin + spin / 2;  // the time that it took to wake up is in that
    *prompt = was ? *prompt + 1 : 0;
  }
  return n;
}
