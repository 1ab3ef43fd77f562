// The items of a streamed input.
//
// They come by the slot's socket. While the model runs, nothing else comes there: the front sends a model with a
// streamed input one request at a time. On an event loop px_task_methods's receive() hands them out. Else the model
// itself reads the socket, on the prediction's thread or on one that it has started. items_mu keeps those apart, and
// from the slot's own loop: the thread that reads holds it, and items_of is still the prediction's id.
#define _GNU_SOURCE
#include "serving_items.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "channel_busypoll.h"
#include "channel_receive.h"
#include "channel_send.h"
#include "channel_slots.h"
#include "channel_worker.h"
#include "codec_json.h"
#include "codec_text.h"
#include "interpreter_interrupt.h"

// So many items, or so many bytes of them, are reported as read at the latest: half of what the front lets wait.
#define PX_READ_ITEMS 32
#define PX_READ_BYTES ((size_t)512 << 10)

enum { JSON_ITEM = -1, BINARY_ITEM = -2, ITEMS_END = -3 };

PyObject *px_item_read(const struct px_frame *f) {
  static const struct px_json_arrays none;
  long what = f->kind == PX_ITEMS_END ? ITEMS_END : f->flags & PX_FLAG_BINARY ? BINARY_ITEM : JSON_ITEM;
  PyObject *value = NULL;
  if (what == ITEMS_END)
    value = f->len ? PyUnicode_DecodeUTF8(f->body, (Py_ssize_t)f->len, "replace") : Py_NewRef(Py_None);
  else if (what == BINARY_ITEM)
    value = PyBytes_FromStringAndSize(f->body, (Py_ssize_t)f->len);
  else
    value = px_json_loads_arrays(f->body, f->len, &none, (struct px_shared){NULL, 0, NULL});
  PyObject *id = value ? PyLong_FromUnsignedLongLong(f->id) : NULL, *number = id ? PyLong_FromLong(what) : NULL;
  PyObject *size = number ? PyLong_FromLongLong((long long)f->len) : NULL;
  PyObject *item = size ? PyTuple_Pack(4, id, number, value, size) : NULL;
  Py_XDECREF(size);
  Py_XDECREF(number);
  Py_XDECREF(id);
  Py_XDECREF(value);
  return item;
}

// lock takes items_mu without the GIL: who has it may wait for the GIL.
static void lock(struct px_channel *ch) {
  PyThreadState *state = PyEval_SaveThread();
  pthread_mutex_lock(&ch->items_mu);
  PyEval_RestoreThread(state);
}

void px_items_close(struct px_channel *ch) {
  lock(ch);
  ch->items_of = 0;
  ch->items_read = 0;
  ch->items_bytes = 0;
  pthread_mutex_unlock(&ch->items_mu);
}

// report lets the front send more, if enough was read. 0, or -1 with an exception.
static int report(struct px_channel *ch, uint64_t id, unsigned items, bool due) {
  if (!due) return 0;
  if (px_channel_put(ch, PX_ITEMS_READ, id, items, "", 0) < 0) {
    PyErr_NoMemory();
    return -1;
  }
  px_flush_with_gil(ch);
  return 0;
}

// next takes the next item that is there. NULL without an exception: none is.
static PyObject *next(struct px_channel *ch, uint64_t id) {
  PyObject *item = NULL;
  bool gone = false;
  int error = 0;
  lock(ch);
  if (ch->items_of != id) {
    pthread_mutex_unlock(&ch->items_mu);
    PyErr_SetString(PyExc_RuntimeError, "the prediction of this streamed input has ended");
    return NULL;
  }
  for (bool filled = false; !item && !PyErr_Occurred();) {
    struct px_frame f;
    int n = px_channel_next(ch, &f);
    if (n == 0 && !filled) {
      filled = true;
      n = px_channel_fill(ch, false);
      gone = n == 0;
      if (n > 0) continue;
    }
    if (n < 0) error = errno;
    if (n <= 0) break;  // 0: no frame is whole yet
    if ((f.kind == PX_ITEM || f.kind == PX_ITEMS_END) && f.id == id) {
      item = px_item_read(&f);
      ch->items_read++;
      ch->items_bytes += f.len;
    }
    px_frame_done(&f);
  }
  unsigned items = ch->items_read;
  bool due = item && (items >= PX_READ_ITEMS || ch->items_bytes >= PX_READ_BYTES);
  if (due) ch->items_read = 0, ch->items_bytes = 0;
  pthread_mutex_unlock(&ch->items_mu);
  if (item || PyErr_Occurred()) {
    if (item && report(ch, id, items, due) < 0) Py_CLEAR(item);
    return item;
  }
  if (gone || (error && error != EAGAIN && error != EINTR))
    return PyErr_Format(PyExc_OSError, "read a streamed input: %s", gone ? "the server stops" : strerror(error));
  return NULL;
}

// next_item(slot, id) -> (id, what, value, bytes): waits for the next item of the prediction's streamed input; see
// px_item_read.
static PyObject *next_item(PX_SELF, PyObject *args) {
  struct px_channel *ch;
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "O&K", px_slot_arg, &ch, &id)) return NULL;
  bool own = px_own_slot ? px_own_slot == ch : getpid() == gettid();
  for (;;) {
    PyObject *item = next(ch, id);
    if (item || PyErr_Occurred()) return item;
    PyThreadState *state = PyEval_SaveThread();
    px_channel_flush(ch, true);
    px_wait(ch->fd, own ? &ch->short_waits : NULL, -1);  // a signal ends it too
    PyEval_RestoreThread(state);
    if (px_interrupt_check() < 0) return NULL;
  }
}

// open_items() -> (slot, id): the prediction of this thread reads its streamed input by next_item from now on.
static PyObject *open_items(PX_SELF, PX_NO_ARGS) {
  struct px_channel *ch = px_own_slot ? px_own_slot : px_w.slots[0];
  int index = 0;
  while (px_w.slots[index] != ch) index++;
  lock(ch);
  ch->items_of = px_get(&ch->current);
  uint64_t id = ch->items_of;
  pthread_mutex_unlock(&ch->items_mu);
  PyObject *slot = PyLong_FromLong(index), *number = slot ? PyLong_FromUnsignedLongLong(id) : NULL;
  PyObject *result = number ? PyTuple_Pack(2, slot, number) : NULL;
  Py_XDECREF(number);
  Py_XDECREF(slot);
  return result;
}

// items_read(slot, id, n): a task has taken so many more items of its streamed input.
static PyObject *items_read(PX_SELF, PyObject *args) {
  struct px_channel *ch;
  unsigned long long id;
  unsigned n;
  if (!PyArg_ParseTuple(args, "O&KI", px_slot_arg, &ch, &id, &n)) return NULL;
  if (px_get(&ch->current) == id && report(ch, id, n, true) < 0) return NULL;
  Py_RETURN_NONE;
}

PyMethodDef px_item_methods[] = {
    {"next_item", next_item, METH_VARARGS, NULL},
    {"open_items", open_items, METH_NOARGS, NULL},
    {"items_read", items_read, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
