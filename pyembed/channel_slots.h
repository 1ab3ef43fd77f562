// channel_slots.c finds the channel of a slot, and reads it for Python.
#ifndef CHANNEL_SLOTS_H
#define CHANNEL_SLOTS_H

#include <stdbool.h>

#include "channel_socket.h"
#include "base_python.h"

// px_wait_slots waits until the front has passed n slot sockets, or wants the worker to stop. It returns how many there
// are. Call it without the GIL.
int px_wait_slots(int n);

// px_share_socket makes n slots that use the first one's socket, for an event loop of this thread, and returns the
// socket; -1 if the front wants the worker to stop, or -2 without memory. Call it without the GIL.
int px_share_socket(int n);

// px_slot_of returns the channel of slot i, or NULL with an exception. GIL held.
struct px_channel *px_slot_of(int i);

// px_slot_arg is a converter of PyArg_ParseTuple: it sets *channel to that of a slot's number. GIL held. 1, or 0 with
// an exception.
int px_slot_arg(PyObject *number, void *channel);

// px_fill is px_channel_fill with the GIL held on entry and exit, released while it waits. It repeats after EINTR.
int px_fill(struct px_channel *ch, bool wait);

#endif
