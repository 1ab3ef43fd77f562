// Busy-polling: asking a socket for the next request for a while before blocking.
//
// Waking a thread takes longer than many a prediction. When requests come one by one, px_wait therefore polls before it
// blocks, if the last PX_SHORT_WAITS waits were short (ipc/PROTOCOL.md, "Busy-polling"). It asks ppoll() and not
// recvmsg(): that one also wakes up when the front reads an answer, because there is more room to write.
//
// Gain, echo model on two cores, one connection: 8 900 -> 14 300 requests a second, median 96 -> 36 us; two connections
// half as much; from eight on none (docs/experiments.md). The front decides: the word busy_poll of the page is 0 with
// --busy-poll off, without a spare core, or under CPU pressure. The front's side is runtime/slot/busypoll.go.
#define _GNU_SOURCE  // ppoll
#include "channel_busypoll.h"

#include <poll.h>

#include "channel_worker.h"

#define PX_SHORT_WAITS 16  // after so many short waits in a row the next one polls
#define PX_PAUSE 4  // waits without polling after one that outlasted the budget

int px_wait(int fd, unsigned *short_waits, int64_t most) {
  struct pollfd one = {fd, POLLIN, 0};
  uint64_t budget = short_waits ? atomic_load(&px_w.page->busy_poll) : 0, began = px_now(), elapsed;
  if (budget && *short_waits == PX_SHORT_WAITS) {
    do {
      int n = ppoll(&one, 1, &(struct timespec){0, 0}, NULL);
      if (n != 0) return n;
      elapsed = px_now() - began;
      if (most >= 0 && elapsed >= (uint64_t)most) return 0;
    } while (elapsed < budget);
    *short_waits -= PX_PAUSE;
    most -= (int64_t)elapsed;  // a negative number stays negative
  }
  struct timespec limit = {most / 1000000000, most % 1000000000};
  int n = ppoll(&one, 1, most < 0 ? NULL : &limit, NULL);
  if (short_waits) {
    bool was_short = budget && px_now() - began < budget + budget / 2;  // the wake-up itself takes up to half of it
    *short_waits = was_short ? *short_waits + 1 : 0;
  }
  return n;
}
