#include <stdlib.h>
#include <sys/prctl.h>

// A worker is left alone: px_main asks for the opposite there.
__attribute__((constructor)) static void set_timer_slack(void) {
  if (!getenv("PINION_WORKER")) prctl(PR_SET_TIMERSLACK, 500000UL, 0, 0, 0);
}
