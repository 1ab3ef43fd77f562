// process_pipes.c gives a prediction that starts processes its own log pipes.
#ifndef PROCESS_PIPES_H
#define PROCESS_PIPES_H

#include <stdbool.h>

#include "channel_socket.h"
#include "base_python.h"

// px_pipes_before_child is called before this process makes a child. With one slot, it gives the running prediction its
// own pipes. It returns true if the code belongs to a prediction that has ended: the child's stdout and stderr must
// then become those of unattributed[] that are not -1. It does nothing in a forked child, nor for a new worker. Any
// thread, with or without the GIL. It keeps errno.
//
// It can find out whose code this is only with the GIL. With take_gil, a Python thread that has released the GIL waits
// for it, because CPython releases it before vfork. Do not set take_gil elsewhere: the caller may hold a library's lock
// for which the GIL's owner waits.
bool px_pipes_before_child(int unattributed[2], bool take_gil);

// px_pipes_end restores the worker's own pipes, after the last mark. With log_mu held; no GIL needed.
void px_pipes_end(struct px_channel *ch);

// px_pipes_note remembers which pipes the log pipes are. Before there are other threads.
void px_pipes_note(void);

// px_pipes_unattributed makes the pipes for unattributed text, if there are none yet. Without descriptors it makes
// none. Any thread.
void px_pipes_unattributed(void);

// px_pipes_stream returns 0 if a descriptor is the log pipe of stdout, 1 for stderr, and -1 for any other file. The
// running prediction's own pipes count as log pipes. Any thread, also in a signal handler; it changes errno.
int px_pipes_stream(int fd);

// px_is_leftover tells whether the code of this thread belongs to a prediction that has ended; false without the GIL.
// It runs no Python code: a signal handler could raise there.
bool px_is_leftover(void);

// The functions that say which prediction code belongs to.
extern PyMethodDef px_pipes_methods[];

#endif
