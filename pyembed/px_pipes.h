// px_pipes.c gives a prediction with children log pipes of its own.
#ifndef PX_PIPES_H
#define PX_PIPES_H

#include <stdbool.h>

#include "px_channel.h"
#include "px_python.h"

// px_pipes_before_child is called before this process makes a child. It gives the running prediction its own pipes, if
// there is one slot. true: the code belongs to a prediction that has ended, and the child's stdout and stderr must
// become unattributed[], where those are not -1. Any thread, with or without the GIL; it does nothing in a forked
// child, nor for a new worker. errno is kept.
//
// Only with the GIL can it find out whose the code is. With take_gil a Python thread that has released the GIL waits
// for it: CPython releases it before vfork. Elsewhere the caller may hold a library's lock that the GIL's owner waits
// for.
bool px_pipes_before_child(int unattributed[2], bool take_gil);

// px_pipes_end goes back to the worker's own pipes, after the last mark. With log_mu held.
void px_pipes_end(struct px_channel *ch);

// px_pipes_note notes which pipes the log pipes are.
void px_pipes_note(void);

// px_pipes_unattributed makes the pipes for unattributed text, if there are none yet. Any thread.
void px_pipes_unattributed(void);

// px_pipes_stream returns of which stream, 0 or 1, a descriptor is a log pipe, or a pipe of the running prediction's
// own; -1: it is neither. Any thread, also in a signal handler; it changes errno.
int px_pipes_stream(int fd);

// px_is_leftover tells whether the code of this thread belongs to a prediction that has ended; false without the GIL.
// It runs no Python code: a signal handler could raise there.
bool px_is_leftover(void);

// The functions that say which prediction code belongs to.
extern PyMethodDef px_pipes_methods[];

#endif
