// Serving: the loops in C, and the functions by which Python serves what they do not.
#ifndef PX_SERVE_H
#define PX_SERVE_H

#include "px_channel.h"
#include "px_python.h"

// px_serve is serve(handler), in px_serve.c, and px_serve_slot is serve_slot(handler, slot); px_serve_batches is serve_batches(handler), in px_batchserve.c.
PyObject *px_serve(PyObject *self, PyObject *handler);
PyObject *px_serve_slot(PyObject *self, PyObject *args);
PyObject *px_serve_batches(PyObject *self, PyObject *handler);

extern PyMethodDef px_task_methods[];     // px_tasks.c, for an event loop
extern PyMethodDef px_batch_methods[];    // px_batch.c, for batches
extern PyMethodDef px_request_methods[];  // px_request.c: how requests are read
extern PyMethodDef px_call_methods[];     // px_calls.c, for calls of other models

// ---- px_batch.c -------------------------------------------------------------

// px_batch_done queues that the function has ended a batch of size items, after so many runs. The answers that follow at
// once leave with it. GIL held. 0, or -1 with an exception.
int px_batch_done(struct px_channel *ch, uint64_t id, uint64_t nanos, int runs, int size, bool failed);

// px_reply_batch queues the answers of items that succeeded, with the same time and metrics. It returns how many it could
// make, and sets no exception. ids and values are lists of the caller's own. GIL held.
Py_ssize_t px_reply_batch(struct px_channel *ch, PyObject *ids, PyObject *values, uint64_t nanos, PyObject *metrics,
                          PyObject *encode);

// px_frame_tuple is a frame as Python has it: (kind, id, flags, message, error). It takes both references; NULL stands for
// None. GIL held. New reference, or NULL with an exception.
PyObject *px_frame_tuple(uint8_t kind, uint64_t id, uint8_t flags, PyObject *message, PyObject *error);

// px_frame_read is the tuple of a received frame: error is None, or the exception of a body that cannot be read.
PyObject *px_frame_read(const struct px_frame *f);

// px_fill is px_channel_fill with the GIL held on entry and exit, released while it waits. It never returns EINTR.
int px_fill(struct px_channel *ch, bool wait);

// ---- px_request.c, px_tasks.c, px_module.c ----------------------------------

// px_request_read is the JSON of a received frame, whose file is shared. In a request for a prediction, the inputs that
// use_arrays() named become arrays. GIL held. New reference, or NULL with an exception.
PyObject *px_request_read(const struct px_frame *f, struct px_shared shared);

// px_slot_of is the channel of slot i, or NULL with an exception. GIL held.
struct px_channel *px_slot_of(int i);

// px_slot_arg sets *channel to that of a slot's number: 1, or 0 with an exception, as a converter of PyArg_ParseTuple does.
int px_slot_arg(PyObject *number, void *channel);

// px_cancel_forget ends what the handler of the cancel signal has begun: the prediction has ended. GIL held. px_w.raised is
// set where there is anything to forget but a note.
void px_cancel_forget(void);

// px_in_import tells whether the code of a frame runs for an import. Many libraries cannot be imported again after an import
// that failed. GIL held.
bool px_in_import(PyObject *frame);

// PX_SWALLOW_PAUSE is how long in ns an exception that Python code may have swallowed is not raised again, at least.
#define PX_SWALLOW_PAUSE 90000000

// px_was_swallowed tells whether an exception that was raised in a thread at a time is to be raised there again: C code has
// dropped it, or serve/swallowed.py says so. The thread runs the frame. The caller has one reference. GIL held.
bool px_was_swallowed(PyObject *raised, uint64_t at, PyObject *frame, pthread_t thread);

// px_attribute is PyObject_GetAttrString that returns NULL, without an exception, for NULL and None, and where there is none.
PyObject *px_attribute(PyObject *o, const char *name);

extern PyMethodDef px_cancel_methods[];

// px_module_init makes the module _px.
PyObject *px_module_init(void);

#endif
