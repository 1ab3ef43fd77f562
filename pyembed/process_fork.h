// process_fork.c prepares forks and forked children.
#ifndef PROCESS_FORK_H
#define PROCESS_FORK_H

#include <stdbool.h>

// px_signals_default restores the inherited action of the signals that Go handles. Call it before our threads run.
void px_signals_default(void);

// px_inherited_restore gives this thread the inherited signal mask, and the process its inherited limit of open files.
// Any thread, no GIL.
void px_inherited_restore(void);

// px_fork_hook registers what a forked child does first, and what the preload process does last before it forks. Call
// it before Python starts: hooks before a fork run in the reverse order of their registration, so the model's run
// earlier. 0, or -1 without memory.
int px_fork_hook(bool preload);

// px_fork_to makes these descriptors, or -1, stdout and stderr of the next child that this thread forks. No GIL.
void px_fork_to(const int streams[2]);

// px_block_signals makes all other threads block every signal, also those that Go unblocks in its threads. Otherwise
// they would take signals that the model blocks in its own threads. Call it on the first thread, while all others are
// Go's. It returns how many threads it has signaled.
int px_block_signals(void);

#endif
