// Waits of the front may end up to 500 µs late. Go's monitor thread looks every 20 µs whether another thread hangs in a
// system call. On a loaded machine with two cores it mostly finds one that is about to return, and acts on it in vain.
//
// Gain, the front's CPU a request: echo with 64 connections 27 to 23 µs, with one 116 to 96 µs (docs/experiments.md).
// Go's timers fire within a millisecond as before. To switch it off, leave out this file.
//
// It is C, in a constructor, because a thread inherits the slack from its creator, no other thread can change it, and
// Go starts the monitor thread before any init function runs.

#include <stdlib.h>
#include <sys/prctl.h>

// A worker is left alone: px_main asks for the opposite there.
__attribute__((constructor)) static void set_timer_slack(void) {
  if (!getenv("PINION_WORKER")) prctl(PR_SET_TIMERSLACK, 500000UL, 0, 0, 0);
}
