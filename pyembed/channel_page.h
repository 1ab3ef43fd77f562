// The shared page: words that the front and this worker read and write with
// atomic operations. ipc/page.go has the same layout for Go and says what each
// word means; a test compares the two.
//
// No function here touches Python or blocks; any thread.
#ifndef CHANNEL_PAGE_H
#define CHANNEL_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PX_PAGE_MAGIC UINT64_C(0x314e4f494e4950)
#define PX_PAGE_HEADER 4096
#define PX_PAGE_SLOT 1024
#define PX_CLAIMS 64
#define PX_MAX_SLOTS 1000
#define PX_PAGE_OUT 16384
#define PX_PAGE_SIZE (PX_PAGE_HEADER + PX_MAX_SLOTS * (PX_PAGE_SLOT + PX_PAGE_OUT))

typedef _Atomic uint64_t px_word;

enum px_claim { PX_CLAIM_QUEUED = 1, PX_CLAIM_RUNNING = 2, PX_CLAIM_REVOKED = 3 };
#define PX_CLAIM_SHIFT 2

// What the front took from one log pipe; version is odd while it reads.
struct px_consumed {
  px_word version, bytes;
  uint64_t pad[6];
};

struct px_slot_page {
  px_word running;
  px_word noticed;  // with threads: the prediction that main has tried to end
  uint64_t pad1[6];
  px_word cancel;
  px_word given_up;  // with threads: the prediction whose thread is not waited for
  px_word paused;    // the prediction that is to yield no more items for now; its low half is a futex
  uint64_t pad2[5];
  px_word claims[PX_CLAIMS];
  px_word steps;  // of a rank: twice the steps that its prediction has passed, plus 1: it waits for stop at the next
  px_word stop;   // of a rank: the step at which it stops; its low half is a futex
  uint64_t pad3[PX_PAGE_SLOT / 8 - 16 - PX_CLAIMS - 2];
};

// What a slot's channel has queued and not sent. If the worker dies, the front
// reads it from here. data has len bytes of the channel's stream, from position
// begin on. Each word is written atomically, and len is 0 while begin and data
// do not match, so the page is valid whenever the worker is killed.
struct px_out_page {
  px_word begin, len;
  uint64_t pad[6];
  uint64_t data[PX_PAGE_OUT / 8 - 8];
};

#define PX_OUT_MAX (PX_PAGE_OUT - 64)

struct px_page {
  px_word magic;
  uint64_t pad[7];
  struct px_consumed logs[2];  // stdout, stderr
  px_word busy_poll;           // ns
  uint64_t pad2[7];
  struct px_consumed own[2];   // of a prediction's own pipes
  px_word own_ended;           // how many pairs of them the front has released
  px_word own_full;            // not 0: the front takes no more pairs
  uint64_t pad3[6];
  px_word lost_control;        // not 0: this worker ended itself, because its control channel closed
  px_word score;  // this worker's oom_score_adj, which its children inherit; 0: other processes have it too
  px_word crashed;             // 1 + the slot whose thread has crashed the worker
  uint64_t pad4[5];
  px_word interrupt;  // not 0: a PX_INTERRUPT is on its way
  uint64_t pad5[PX_PAGE_HEADER / 8 - 8 - 16 - 8 - 16 - 8 - 8 - 1];
  struct px_slot_page slots[PX_MAX_SLOTS];
  struct px_out_page outs[PX_MAX_SLOTS];
};

_Static_assert(sizeof(struct px_consumed) == 64, "layout of ipc/page.go");
_Static_assert(sizeof(struct px_slot_page) == PX_PAGE_SLOT, "layout of ipc/page.go");
_Static_assert(sizeof(struct px_out_page) == PX_PAGE_OUT, "layout of ipc/page.go");
_Static_assert(sizeof(struct px_page) == PX_PAGE_SIZE, "layout of ipc/page.go");

// Access to words of this process that any thread may read, without an order between words.
#define px_get(word) atomic_load_explicit((word), memory_order_relaxed)
#define px_set(word, value) atomic_store_explicit((word), (value), memory_order_relaxed)

// px_claim takes a request for the model. It returns false if the front took
// the request back. running is set before the claim, so that a cancel that
// sees the claim always finds it.
static inline bool px_claim(struct px_slot_page *s, uint64_t id) {
  uint64_t expected = id << PX_CLAIM_SHIFT | PX_CLAIM_QUEUED;
  atomic_store(&s->running, id);
  if (atomic_compare_exchange_strong(&s->claims[id % PX_CLAIMS], &expected, id << PX_CLAIM_SHIFT | PX_CLAIM_RUNNING))
    return true;
  atomic_store(&s->running, 0);
  return false;
}

// The front sets this bit in a cancel word to repeat a cancel.
#define PX_CANCEL_AGAIN 0x8000000000000000

// px_is_canceled tells whether the front has canceled id.
static inline bool px_is_canceled(struct px_slot_page *s, uint64_t id) {
  return id != 0 && (atomic_load(&s->cancel) & ~PX_CANCEL_AGAIN) == id;
}

#endif
