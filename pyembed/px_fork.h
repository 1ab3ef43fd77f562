// px_fork.c prepares forks and forked children.
#ifndef PX_FORK_H
#define PX_FORK_H

#include <stdbool.h>

// px_signals_default restores the action that the process inherited for the signals that Go took. Before our threads
// run.
void px_signals_default(void);

// px_inherited_restore gives this thread the inherited signal mask, and the process its limit of open files.
void px_inherited_restore(void);

// px_fork_hook registers what a forked child does first, and what the preload process does last before it forks. It is
// called before Python starts: hooks run in the reverse order of their registration, so the model's run earlier. 0 or
// -1.
int px_fork_hook(bool preload);

// px_fork_to makes these streams stdout and stderr of the next child that this thread forks.
void px_fork_to(const int streams[2]);

// px_exit_child ends a forked child that came back to the serve loop. GIL held; an exception may be set: SystemExit
// gives the exit code. Never returns.
void px_exit_child(void);

// px_block_signals makes all other threads block every signal, also those that Go unblocks in its threads. Otherwise
// they would take signals that the model blocks in its own threads. Call it on the first thread, while the others are
// Go's alone. It returns their number.
int px_block_signals(void);

#endif
