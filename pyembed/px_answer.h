// What the front gets of a prediction: its events and its answer; and the scope in which the model records its metrics.
#ifndef PX_ANSWER_H
#define PX_ANSWER_H

#include "px_channel.h"
#include "px_python.h"

// ---- px_events.c ------------------------------------------------------------

// px_settle_text sends what the prediction of this channel has printed, if Python keeps that; ended: its answer follows. GIL held; an exception that is
// set stays set.
void px_send_text(struct px_channel *ch, bool ended);
static inline void px_settle_text(struct px_channel *ch, bool ended) {
  if (ch->settle_text) px_send_text(ch, ended);
}

// px_put_times queues when the model got id, which took so many nanoseconds until now, and how many of them its input took to
// prepare. It leaves with the answer. An error is left to the answer, which meets it too.
void px_put_times(struct px_channel *ch, uint64_t id, uint64_t took, uint64_t prepared);

// px_started reports that the model has id now. GIL held. 0, or -1 with an exception.
int px_started(struct px_channel *ch, uint64_t id);

// px_emit sends value as a frame of that kind; encode replaces what is no JSON. index >= 0: value is the item of that index,
// which errors then name. GIL held, any Python thread. 0, or -1 with an exception.
int px_emit(struct px_channel *ch, uint8_t kind, uint64_t id, PyObject *value, PyObject *encode, Py_ssize_t index);

// px_emit_item is px_emit for an item of a batch, whose id is not that of what runs. value NULL: the frame has no body.
int px_emit_item(struct px_channel *ch, uint8_t kind, uint64_t id, PyObject *value);

// px_wait_resumed waits while the front wants no more items of a prediction. GIL held; released while it waits. 0, or -1 with
// an exception, such as a cancel.
int px_wait_resumed(struct px_channel *ch, uint64_t id);

// px_yield_all emits every item of an iterable as it comes. An exception on the way, such as a cancel, is first given to the
// generator, so that its finally blocks run. New reference to px_w.yielded, or NULL with an exception. Main thread.
PyObject *px_yield_all(struct px_channel *ch, uint64_t id, PyObject *iterable, PyObject *encode);

// ---- px_reply.c -------------------------------------------------------------

// px_reply queues the answer that ends a prediction. GIL held, main thread.
//
// value: for PX_SUCCEEDED the output or px_w.yielded, for PX_FAILED the error text (str), else NULL. encode replaces what is
// no JSON. metrics: the model's dict, None or NULL. An output that cannot be encoded or sent becomes a failure, whose text
// fail makes; a failure leaves out metrics that cannot be encoded. 0, or -1 with an exception without memory even for that.
int px_reply(struct px_channel *ch, uint8_t kind, uint64_t id, PyObject *value, uint64_t nanos, PyObject *metrics,
             PyObject *encode, PyObject *fail);

// px_build_answer makes the body of an answer in b. *kind becomes PX_FAILED if the output cannot be encoded.
// px_begin_answer and px_end_answer make its two parts; the first is the same for all answers with the same metrics.
// px_build_failure makes a failure of the exception that is set instead; a failure or cancellation stays what it is and
// loses its metrics, which caused the exception. px_put_answer queues the body. All: GIL held, any thread that owns b; 0, or
// -1 with an exception.
int px_build_answer(struct px_buf *b, uint8_t *kind, PyObject *value, uint64_t nanos, PyObject *metrics,
                    PyObject *encode, PyObject *fail);
int px_begin_answer(struct px_buf *b, uint64_t nanos, PyObject *metrics, PyObject *encode);
int px_end_answer(struct px_buf *b, uint8_t kind, PyObject *value, PyObject *encode);
int px_build_failure(struct px_buf *b, uint8_t *kind, PyObject *value, uint64_t nanos, PyObject *metrics,
                     PyObject *encode, PyObject *fail);
int px_put_answer(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos, const struct px_buf *b);

// px_raised takes the exception that is set, normalised; NULL if none is. GIL held. New reference.
PyObject *px_raised(void);

// px_failure takes the exception that is set and returns fail(exception), the error's text, or another text if fail raises.
// GIL held. New reference; NULL with an exception without memory.
PyObject *px_failure(PyObject *fail);

// ---- px_scope.c -------------------------------------------------------------

// How the scopes of predictions are made. All functions: GIL held.
struct px_scopes {
  PyObject *make;  // scope(context)
  PyObject *variable;  // the context variable that holds the scope
  PyObject *values_name, *context_name;
  PyObject *unused;  // see px_scopereuse.c; NULL: none
  PyObject **running;  // where the scope of the running prediction is noted: px_w.scope
  PyObject *own;  // this place instead, if predictions of other threads run meanwhile
};

// px_scopes_load looks up handler.scope and handler.variable. 0, or -1 with an exception; px_scopes_free in both cases.
int px_scopes_load(struct px_scopes *s, PyObject *handler);
void px_scopes_free(struct px_scopes *s);

// px_scope_enter makes a prediction's scope, a new reference, and sets it in a copy of the context that setup left, *around:
// context variables that the model sets do not stay for the next prediction. context: what the client sent, or NULL. NULL
// with an exception.
PyObject *px_scope_enter(struct px_scopes *s, PyObject *context, PyObject **around);

// px_scope_leave undoes px_scope_enter and takes both references. The model's metrics, or NULL if it has recorded none. An
// exception that is set stays set.
PyObject *px_scope_leave(struct px_scopes *s, bool observed, PyObject *scope, PyObject *around);

// px_scope_keep takes over a scope without attributes for the next prediction; false: it is in use, or one is kept already.
// px_scope_reuse returns the kept scope, or NULL. See px_scopereuse.c.
bool px_scope_keep(struct px_scopes *s, PyObject *scope);
PyObject *px_scope_reuse(struct px_scopes *s);

// px_scope_run notes in *running, which may be px_w.scope, the scope of the running prediction; NULL: none runs. The caller keeps
// it alive until it notes another one. It returns scope.
PyObject *px_scope_run(PyObject **running, PyObject *scope);

// px_scope is _px.scope(): the scope of the prediction that runs on the main thread, or None. Any thread with the GIL; a new
// reference.
PyObject *px_scope(PyObject *self, PyObject *unused);

#endif
