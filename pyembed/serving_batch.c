// The functions with which Python serves a batched model: Python keeps the items, C moves the bytes.
//
// An item is one prediction. A batch is one run of the function as the front formed it; it has a claim word, and its
// items have none. All functions: GIL held. reply_item, prepared and emit_item may be called from any Python thread,
// frames from the one that reads the slot, the rest on the main thread.
#include "serving_batch.h"

#include <errno.h>
#include <stdio.h>

#include "interpreter_cancel.h"
#include "serving_events.h"
#include "channel_flusher.h"
#include "interpreter_logs.h"
#include "channel_receive.h"
#include "serving_reply.h"
#include "serving_request.h"
#include "interpreter_scope.h"
#include "channel_send.h"
#include "codec_shared.h"
#include "channel_slots.h"
#include "channel_worker.h"

#define PX_KEEP_ANSWER ((size_t)1 << 20)

// A buffer that is used again. An answer takes it: the encoder runs Python code, and other threads may answer
// meanwhile. GIL held.
static struct px_buf reused;

PyObject *px_frame_tuple(uint8_t kind, uint64_t id, uint8_t flags, PyObject *message, PyObject *error) {
  PyObject *items[] = {PyLong_FromLong(kind), PyLong_FromUnsignedLongLong(id), PyLong_FromLong(flags),
                       message ? message : Py_NewRef(Py_None), error ? error : Py_NewRef(Py_None)};
  PyObject *frame = items[0] && items[1] && items[2] ? PyTuple_New(5) : NULL;
  for (int i = 0; i < 5; i++) {
    if (frame)
      PyTuple_SetItem(frame, i, items[i]);  // which takes it
    else
      Py_XDECREF(items[i]);
  }
  return frame;
}

PyObject *px_frame_read(const struct px_frame *f) {
  PyObject *message = px_request_read(f, px_shared_map(f->file)), *raised = NULL;
  if (!message) {
    raised = px_raised();
    if (!raised) return NULL;
  }
  return px_frame_tuple(f->kind, f->id, f->flags, message, raised);
}

// frames(slot, wait) -> [(kind, id, flags, message, error), …], or None at the end: all frames that are there; with
// wait at least one.
static PyObject *frames(PX_SELF, PyObject *args) {
  struct px_channel *ch;
  int wait, n;
  if (!PyArg_ParseTuple(args, "O&p", px_slot_arg, &ch, &wait)) return NULL;
  PyObject *list = PyList_New(0);
  if (!list) return NULL;
  do {
    n = px_fill(ch, wait);
    if (n == 0) {
      Py_DecRef(list);
      Py_RETURN_NONE;
    }
    if (n < 0 && errno == EAGAIN) return list;
    if (n < 0) goto broken;
    struct px_frame f;
    while ((n = px_channel_next(ch, &f)) > 0) {
      bool known = f.kind == PX_PREDICT || f.kind == PX_BATCH || f.kind == PX_DROP;
      int status = known ? px_append(list, px_frame_read(&f)) : 0;
      px_frame_done(&f);
      if (status < 0) {
        Py_DecRef(list);
        return NULL;
      }
    }
    if (n < 0) goto broken;
  } while (wait && PyList_Size(list) == 0);
  return list;
broken:
  Py_DecRef(list);
  return PyErr_Format(PyExc_OSError, "read from the front: %s", strerror(errno));
}

// set_scope(scope): what _px.scope() returns from now on, to be kept alive by the caller; None: nothing.
static PyObject *set_scope(PX_SELF, PyObject *scope) {
  px_scope_run(&px_w.scope, scope == Py_None ? NULL : scope);
  Py_RETURN_NONE;
}

// watch(id): what a batch writes is marked as it comes, if there is one slot.
static PyObject *watch(PX_SELF, PyObject *id) {
  uint64_t batch = PyLong_AsUnsignedLongLong(id);
  if (PyErr_Occurred()) return NULL;
  if (px_w.nslots == 1) px_log_watch(batch);
  Py_RETURN_NONE;
}

// emit_item(slot, id, kind, value): sends an event of an item; value None: without a body.
static PyObject *emit_item(PX_SELF, PyObject *args) {
  struct px_channel *ch;
  int kind;
  unsigned long long id;
  PyObject *value;
  if (!PyArg_ParseTuple(args, "O&KiO", px_slot_arg, &ch, &id, &kind, &value)) return NULL;
  if (px_emit_item(ch, (uint8_t)kind, id, value == Py_None ? NULL : value) < 0) return NULL;
  Py_RETURN_NONE;
}

// prepared(slot, id): an item's preprocess is done.
static PyObject *prepared(PX_SELF, PyObject *args) {
  struct px_channel *ch;
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "O&K", px_slot_arg, &ch, &id)) return NULL;
  if (px_channel_put(ch, PX_PREPARED, id, 0, "", 0) < 0) return PyErr_NoMemory();
  px_flush_with_gil(ch);
  Py_RETURN_NONE;
}

int px_batch_done(struct px_channel *ch, uint64_t id, uint64_t nanos, int runs, int size, bool failed) {
  if (px_w.raised) px_cancel_forget();
  px_flush_stdio();
  px_log_unwatch();
  char body[80];
  int n = snprintf(body, sizeof body, "{\"runs\":%d,\"size\":%d,\"failed\":%s}", runs, size, failed ? "true" : "false");
  int status = px_log_end(ch, id);
  atomic_store(&ch->page->running, 0);
  px_set(&ch->current, 0);
  if (status == 0) status = px_channel_put(ch, PX_BATCH_DONE, id, nanos, body, (size_t)n);
  if (status < 0) {
    PyErr_NoMemory();
    return -1;
  }
  return 0;
}

// batch_done(slot, batch, nanos, runs, size, failed): see px_batch_done. It leaves soon, even if the answers take long.
static PyObject *batch_done(PX_SELF, PyObject *args) {
  struct px_channel *ch;
  int runs, size, failed;
  unsigned long long id, nanos;
  if (!PyArg_ParseTuple(args, "O&KKiip", px_slot_arg, &ch, &id, &nanos, &runs, &size, &failed)) return NULL;
  if (px_batch_done(ch, id, nanos, runs, size, failed) < 0) return NULL;
  if (size > 1) px_flusher_arm_for(ch);
  Py_RETURN_NONE;
}

// reply_item(slot, id, kind, value, nanos, metrics, encode, fail): the answer to an item, as px_reply makes it, without
// what belongs to the batch: the logs, and the word that says what runs.
static PyObject *reply_item(PX_SELF, PyObject *const *args, Py_ssize_t n) {
  if (n != 8) return PyErr_Format(PyExc_TypeError, "reply_item takes 8 arguments, not %zd", n);
  struct px_channel *ch;
  if (!px_slot_arg(args[0], &ch)) return NULL;
  uint64_t id = PyLong_AsUnsignedLongLong(args[1]), nanos = PyLong_AsUnsignedLongLong(args[4]);
  uint8_t kind = (uint8_t)PyLong_AsLong(args[2]);
  if (PyErr_Occurred()) return NULL;
  px_flusher_arm_for(ch);  // the answers before this one do not wait for it, which may be long in the making
  struct px_buf b = px_buf_take(&reused);
  int status = px_build_answer(&b, &kind, args[3], nanos, args[5], args[6], args[7]);
  if (status == 0) status = px_put_answer(ch, kind, id, nanos, &b);
  if (status < 0 && kind == PX_SUCCEEDED) {  // it is built, and so large that it takes a file
    status = px_build_failure(&b, &kind, args[3], nanos, args[5], args[6], args[7]);
    if (status == 0) status = px_put_answer(ch, kind, id, nanos, &b);
  }
  px_buf_give_back(&reused, &b, PX_KEEP_ANSWER);
  if (status < 0) return NULL;
  Py_RETURN_NONE;
}

Py_ssize_t px_reply_batch(struct px_channel *ch, PyObject *ids, PyObject *values, uint64_t nanos, PyObject *metrics,
                          PyObject *encode) {
  struct px_buf b = px_buf_take(&reused);
  Py_ssize_t done = 0, count = PyList_Size(ids);
  int status = count < 0 ? -1 : px_begin_answer(&b, nanos, metrics, encode);
  size_t head = b.len;
  for (; status == 0 && done < count; done++) {
    PyObject *id = PyList_GetItem(ids, done), *value = PyList_GetItem(values, done);  // borrowed
    uint64_t name = id && value ? PyLong_AsUnsignedLongLong(id) : (uint64_t)-1;
    b.len = head;
    if (PyErr_Occurred() || px_end_answer(&b, PX_SUCCEEDED, value, encode) < 0 ||
        px_put_answer(ch, PX_SUCCEEDED, name, nanos, &b) < 0)
      break;
  }
  px_buf_give_back(&reused, &b, PX_KEEP_ANSWER);
  PyErr_Clear();  // reply_item raises it again
  return done;
}

// reply_batch(slot, ids, values, nanos, metrics, encode) -> n: see px_reply_batch; reply_item is for those from n on.
static PyObject *reply_batch(PX_SELF, PyObject *const *args, Py_ssize_t n) {
  if (n != 6) return PyErr_Format(PyExc_TypeError, "reply_batch takes 6 arguments, not %zd", n);
  struct px_channel *ch;
  if (!px_slot_arg(args[0], &ch)) return NULL;
  uint64_t nanos = PyLong_AsUnsignedLongLong(args[3]);
  if (PyErr_Occurred()) return NULL;
  return PyLong_FromSsize_t(px_reply_batch(ch, args[1], args[2], nanos, args[4], args[5]));
}

// arm_for(slot): see px_flusher_arm_for.
static PyObject *arm_for(PX_SELF, PyObject *slot) {
  struct px_channel *ch;
  if (!px_slot_arg(slot, &ch)) return NULL;
  px_flusher_arm_for(ch);
  Py_RETURN_NONE;
}

PyMethodDef px_batch_methods[] = {
    {"frames", frames, METH_VARARGS, NULL},
    {"set_scope", set_scope, METH_O, NULL},
    {"watch", watch, METH_O, NULL},
    {"emit_item", emit_item, METH_VARARGS, NULL},
    {"prepared", prepared, METH_VARARGS, NULL},
    {"batch_done", batch_done, METH_VARARGS, NULL},
    {"arm_for", arm_for, METH_O, NULL},
    {"reply_item", (PyCFunction)(void (*)(void))reply_item, METH_FASTCALL, NULL},
    {"reply_batch", (PyCFunction)(void (*)(void))reply_batch, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
