// serving_events.c sends the events of a prediction.
#ifndef SERVING_EVENTS_H
#define SERVING_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "channel_socket.h"
#include "base_python.h"

// px_send_text does the work of px_flush_text, for a channel with flush_text.
void px_send_text(struct px_channel *ch, bool ended);

// px_flush_text sends what the prediction of this channel has printed, if Python keeps that; ended: its answer follows.
// GIL held; an exception that is set stays set.
static inline void px_flush_text(struct px_channel *ch, bool ended) {
  if (ch->flush_text) px_send_text(ch, ended);
}

// px_put_times queues the model's time of id, in nanoseconds until now, and how much of it the preparation of the input
// took. The frame leaves with the answer. Any thread. An error is ignored: the answer meets it too.
void px_put_times(struct px_channel *ch, uint64_t id, uint64_t took, uint64_t prepared);

// px_started reports that the model has id now. GIL held. 0, or -1 with an exception.
int px_started(struct px_channel *ch, uint64_t id);

// px_emit sends value as a frame of that kind; encode replaces what is not JSON. index >= 0: value is the item of that
// index, which errors then name. GIL held, any Python thread. 0, or -1 with an exception.
int px_emit(struct px_channel *ch, uint8_t kind, uint64_t id, PyObject *value, PyObject *encode, Py_ssize_t index);

// px_emit_item is px_emit for an item of a batch, whose id is not that of what runs. value NULL: the frame has no body.
int px_emit_item(struct px_channel *ch, uint8_t kind, uint64_t id, PyObject *value);

// px_paused is the word that names the prediction which is to yield no more items for now. Any thread.
px_word *px_paused(struct px_channel *ch);

// px_stops tells whether what runs is to end at a step of all ranks. Its cancel word is not set: the cancel signal
// would interrupt it elsewhere. Any thread.
bool px_stops(struct px_channel *ch);

// use_steps(): this process is a rank of a group. GIL held, before the first prediction.
PyObject *px_use_steps(PX_SELF, PX_NO_ARGS);

// step() -> bool: the model comes to its next step. True: the prediction is canceled, and all ranks stop at this step.
// While the front chooses one, it waits without the GIL. False in a worker that is no rank. GIL held.
PyObject *px_step(PX_SELF, PX_NO_ARGS);

// px_wait_resumed waits while the front wants no more items of a prediction. GIL held; released while it waits. 0, or
// -1 with an exception, such as a cancel.
int px_wait_resumed(struct px_channel *ch, uint64_t id);

// px_yield_all emits every item of an iterable as it comes. An exception on the way, such as a cancel, is first given
// to the generator, so that its finally blocks run. New reference to px_w.yielded, or NULL with an exception. Main
// thread.
PyObject *px_yield_all(struct px_channel *ch, uint64_t id, PyObject *iterable, PyObject *encode);

#endif
