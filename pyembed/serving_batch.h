// serving_batch.c has what Python needs to serve batches.
#ifndef SERVING_BATCH_H
#define SERVING_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "channel_socket.h"
#include "channel_frame.h"
#include "base_python.h"

extern PyMethodDef px_batch_methods[];

// px_batch_done reports that the function has ended a batch of size items, after so many runs. The frame is queued, and
// leaves with the answers that follow. Main thread, GIL held. 0, or -1 with an exception.
int px_batch_done(struct px_channel *ch, uint64_t id, uint64_t nanos, int runs, int size, bool failed);

// px_reply_batch queues the answers of items that succeeded, with the same time and metrics. It returns how many it
// could make, and sets no exception. No other code may change the lists ids and values meanwhile. GIL held.
Py_ssize_t px_reply_batch(struct px_channel *ch, PyObject *ids, PyObject *values, uint64_t nanos, PyObject *metrics,
                          PyObject *encode);

// px_frame_tuple makes the tuple of a frame for Python: (kind, id, flags, message, error). It takes the references to
// message and error, also on failure; NULL stands for None. GIL held. New reference, or NULL with an exception.
PyObject *px_frame_tuple(uint8_t kind, uint64_t id, uint8_t flags, PyObject *message, PyObject *error);

// px_frame_read makes the tuple of a received frame; error is the exception of an invalid body, or None. GIL held. New
// reference, or NULL with an exception.
PyObject *px_frame_read(const struct px_frame *f);

#endif
