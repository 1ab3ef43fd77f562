// How late the kernel may end a wait.
#include <sys/prctl.h>

// Go has a thread that looks every 20 µs whether another hangs in a system call while there is work, and gives that to yet
// another. On a loaded machine with two cores it mostly finds one that is about to return, and what it does then costs more
// than it saves: a sixth of the front's CPU time. Threads inherit how late their waits may end, so what is said before Go's
// runtime starts holds for this thread, which nothing else can reach. Go's timers go off within a millisecond as it is.
// Workers ask for the opposite: see px_main.
__attribute__((constructor)) static void be_patient(void) { prctl(PR_SET_TIMERSLACK, 500000UL, 0, 0, 0); }
