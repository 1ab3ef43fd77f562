// The answer that ends a prediction.
#include "serving_reply.h"

#include <errno.h>
#include <stdio.h>

#include "interpreter_cancel.h"
#include "serving_events.h"
#include "codec_json.h"
#include "interpreter_logs.h"
#include "channel_send.h"
#include "codec_views.h"
#include "channel_worker.h"

#define PX_KEEP_SCRATCH ((size_t)1 << 20)
#define PX_RELEASE_ABOVE ((size_t)64 << 10)  // bodies that may have to wait for the front

// The buffers in which main, or the thread of each slot, builds answers.
static __thread struct px_buf scratch;

// PUT appends a literal, whose length the compiler knows.
#define PUT(b, literal) px_buf_put(b, "" literal, sizeof literal - 1)

// put_seconds appends nanoseconds as seconds, with every digit and no locale.
static int put_seconds(struct px_buf *b, uint64_t nanos) {
  char text[40], *end = text + sizeof text, *p = end;
  uint64_t whole = nanos / 1000000000, part = nanos % 1000000000;
  for (int i = 0; i < 9; i++, part /= 10) *--p = (char)('0' + part % 10);
  while (end[-1] == '0' && end > p + 1) end--;
  *--p = '.';
  do *--p = (char)('0' + whole % 10);
  while (whole /= 10);
  return px_buf_put(b, p, (size_t)(end - p));
}

// put_metrics appends the metrics: predict_time, then the model's own.
static int put_metrics(struct px_buf *b, uint64_t nanos, PyObject *metrics, PyObject *encode) {
  if (PUT(b, "{\"predict_time\":") < 0 || put_seconds(b, nanos) < 0) goto memory;
  if (metrics && metrics != Py_None && PyDict_Size(metrics) > 0) {
    size_t at = b->len;
    if (px_json_dumps(b, metrics, encode) < 0) return -1;
    b->data[at] = ',';  // replaces the opening brace of the dict; its closing brace ends the object
    return 0;
  }
  if (PUT(b, "}") < 0) goto memory;
  return 0;
memory:
  PyErr_NoMemory();
  return -1;
}

PyObject *px_failure(PyObject *fail) {
  PyObject *raised = px_raised();
  PyObject *text = raised ? PyObject_CallFunctionObjArgs(fail, raised, NULL) : NULL;
  if (raised) {
    PyException_SetTraceback(raised, Py_None);  // its frames hold the model's objects
    Py_DecRef(raised);
  }
  if (text) return text;
  PyErr_Clear();  // an answer without the text is better than none
  return PyUnicode_FromString("RuntimeError: the prediction failed, and there was no memory to say how");
}

// The metrics come first: the front then finds where they end without a look at an output of any size.
int px_begin_answer(struct px_buf *b, uint64_t nanos, PyObject *metrics, PyObject *encode) {
  b->len = 0;
  if (PUT(b, "{\"metrics\":") == 0) return put_metrics(b, nanos, metrics, encode);
  PyErr_NoMemory();
  return -1;
}

// end_answer implements px_end_answer; borrowed may be NULL.
static int end_answer(struct px_buf *b, struct px_borrowed *borrowed, uint8_t kind, PyObject *value, PyObject *encode) {
  if (kind != PX_CANCELED && value != px_w.yielded) {
    if ((kind == PX_SUCCEEDED ? PUT(b, ",\"output\":") : PUT(b, ",\"error\":")) < 0) goto memory;
    if (px_json_borrow(b, borrowed, value, kind == PX_SUCCEEDED ? encode : NULL) < 0) return -1;
  }
  if (PUT(b, "}") < 0) goto memory;
  return 0;
memory:
  PyErr_NoMemory();
  return -1;
}

int px_end_answer(struct px_buf *b, uint8_t kind, PyObject *value, PyObject *encode) {
  return end_answer(b, NULL, kind, value, encode);
}

// build makes a whole answer. If it fails, nothing is borrowed.
static int build(struct px_buf *b, struct px_borrowed *borrowed, uint8_t kind, PyObject *value, uint64_t nanos,
                 PyObject *metrics, PyObject *encode) {
  int status = px_begin_answer(b, nanos, metrics, encode);
  if (status == 0) status = end_answer(b, borrowed, kind, value, encode);
  if (status < 0 && borrowed) px_json_release(borrowed);
  return status;
}

// build_encoded runs the encoder over the whole output. It is slower than the writer's fallback, but its errors name
// the place in the output.
static int build_encoded(struct px_buf *b, struct px_borrowed *borrowed, PyObject *value, uint64_t nanos,
                         PyObject *metrics, PyObject *encode) {
  PyErr_Clear();
  PyObject *plain = PyObject_CallFunctionObjArgs(encode, value, NULL);
  if (!plain) return -1;
  int status = build(b, borrowed, PX_SUCCEEDED, plain, nanos, metrics, encode);
  Py_DecRef(plain);
  return status;
}

int px_build_failure(struct px_buf *b, uint8_t *kind, PyObject *value, uint64_t nanos, PyObject *metrics,
                     PyObject *encode, PyObject *fail) {
  PyObject *text = px_failure(fail);
  if (!text) return -1;
  int status = -1;
  if (*kind == PX_SUCCEEDED) {
    *kind = PX_FAILED;
    value = text;
    status = build(b, NULL, *kind, value, nanos, metrics, encode);
  }
  if (status < 0) {
    PyErr_Clear();
    status = build(b, NULL, *kind, value, nanos, NULL, NULL);
  }
  Py_DecRef(text);
  return status;
}

// build_answer implements px_build_answer; borrowed may be NULL. A failed answer borrows nothing.
static int build_answer(struct px_buf *b, struct px_borrowed *borrowed, uint8_t *kind, PyObject *value, uint64_t nanos,
                        PyObject *metrics, PyObject *encode, PyObject *fail) {
  int status = build(b, borrowed, *kind, value, nanos, metrics, encode);
  if (status < 0 && *kind == PX_SUCCEEDED && value != px_w.yielded)
    status = build_encoded(b, borrowed, value, nanos, metrics, encode);
  return status < 0 ? px_build_failure(b, kind, value, nanos, metrics, encode, fail) : 0;
}

int px_build_answer(struct px_buf *b, uint8_t *kind, PyObject *value, uint64_t nanos, PyObject *metrics,
                    PyObject *encode, PyObject *fail) {
  return build_answer(b, NULL, kind, value, nanos, metrics, encode, fail);
}

// put_answer implements px_put_answer, with flags. It sends b and what b has borrowed.
static int put_answer(struct px_channel *ch, uint8_t kind, uint8_t flags, uint64_t id, uint64_t nanos,
                      const struct px_buf *b, const struct px_borrowed *borrowed) {
  struct iovec parts[1 + 2 * PX_BORROWED_MAX + 1];  // the header, and the buffer around what was borrowed
  int n = 1;
  size_t at = 0, size = b->len;
  for (int i = 0; i < borrowed->n; i++) {
    const struct px_borrowed_str *str = &borrowed->list[i];
    parts[n++] = (struct iovec){b->data + at, str->at - at};
    parts[n++] = (struct iovec){(char *)str->data, str->len};
    at = str->at;
    size += str->len;
  }
  parts[n++] = (struct iovec){b->data + at, b->len - at};
  PyThreadState *state = size > PX_RELEASE_ABOVE ? PyEval_SaveThread() : NULL;
  int status = px_channel_put_parts(ch, kind, flags, id, nanos, parts, n), saved = errno;
  if (state) PyEval_RestoreThread(state);
  if (status < 0) PyErr_Format(PyExc_OSError, "send an answer of %zu bytes: %s", size, strerror(saved));
  return status;
}

int px_put_answer(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos, const struct px_buf *b) {
  static const struct px_borrowed none;
  return put_answer(ch, kind, 0, id, nanos, b, &none);
}

// submit queues the answer that was built, after the mark of what was written until now: with one slot that is the
// prediction's, with several it is unattributed.
static int submit(struct px_channel *ch, uint8_t kind, uint8_t flags, uint64_t id, uint64_t nanos,
                  const struct px_borrowed *borrowed) {
  px_flush_text(ch, true);
  px_flush_stdio();
  px_log_unwatch();
  if (px_log_end(ch, id) < 0) {
    PyErr_NoMemory();
    return -1;
  }
  atomic_store(&ch->page->running, 0);
  px_set(&ch->current, 0);
  return put_answer(ch, kind, flags, id, nanos, &scratch, borrowed);
}

int px_reply(struct px_channel *ch, uint8_t kind, uint64_t id, PyObject *value, uint64_t nanos, PyObject *metrics,
             PyObject *encode, PyObject *fail) {
  struct px_borrowed borrowed;
  borrowed.n = 0;
  borrowed.room = ch->room;
  int status = build_answer(&scratch, &borrowed, &kind, value, nanos, metrics, encode, fail);
  if (ch->room) Py_CLEAR(ch->room->output);
  uint8_t flags = px_views_end() ? PX_FLAG_KEPT : 0;
  if (status == 0) status = submit(ch, kind, flags, id, nanos, &borrowed);
  px_json_release(&borrowed);
  if (status < 0 && kind == PX_SUCCEEDED) {  // the answer is built, but it needs a memory file, which cannot be made
    status = px_build_failure(&scratch, &kind, value, nanos, metrics, encode, fail);
    if (status == 0) status = submit(ch, kind, flags, id, nanos, &borrowed);
  }
  px_buf_trim(&scratch, PX_KEEP_SCRATCH);
  if (px_w.raised) px_cancel_forget();  // its traceback holds the model's objects
  return status;
}
