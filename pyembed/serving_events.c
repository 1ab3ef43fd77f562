// Events of a prediction while it runs.
#include "serving_events.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "interpreter_exit.h"
#include "interpreter_interrupt.h"
#include "codec_json.h"
#include "interpreter_logs.h"
#include "channel_send.h"
#include "channel_worker.h"

#define PX_KEEP_ITEM ((size_t)256 << 10)
#define PX_EMIT_ALONE ((size_t)64 << 10)  // bodies that may have to wait for the front

// A buffer that is used again. An event takes it: the encoder may run code of the model's that emits an event too. GIL
// held.
static struct px_buf reused;

// await_turn sees that what is queued is sent after this turn of the event loop. GIL held.
static void await_turn(struct px_channel *ch) {
  PyObject *done = px_w.on_turn ? PyObject_CallFunctionObjArgs(px_w.on_turn, NULL) : Py_NewRef(Py_None);
  if (!done) {  // the model has closed its loop
    PyErr_Clear();
    px_flush_with_gil(ch);
  }
  Py_XDECREF(done);
}

// emit sends one frame. GIL held; it is released while the front is far behind. 0, or -1 with an exception.
static int emit(struct px_channel *ch, uint8_t kind, uint64_t id, const char *body, size_t len) {
  PyThreadState *state = len > PX_EMIT_ALONE ? PyEval_SaveThread() : NULL;
  int status = px_channel_emit(ch, kind, id, body, len), saved = errno;
  if (state && status >= 0) px_channel_flush(ch, true);
  if (state)
    PyEval_RestoreThread(state);
  else if (status == 1)
    px_flush_with_gil(ch);
  else if (status == 2)
    await_turn(ch);
  if (status >= 0) return 0;
  PyErr_Format(PyExc_OSError, "send %zu bytes of an output: %s", len, strerror(saved));
  return -1;
}

int px_started(struct px_channel *ch, uint64_t id) {
  if (px_w.nslots == 1) px_log_watch(id);
  return emit(ch, PX_STARTED, id, "", 0);
}

void px_put_times(struct px_channel *ch, uint64_t id, uint64_t took, uint64_t prepared) {
  struct timespec now;
  char text[24];
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t began = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - took;
  int len = snprintf(text, sizeof text, "%llu", (unsigned long long)prepared);
  px_channel_put(ch, PX_TRACED, id, began, text, (size_t)len);
}

// dump_item writes an item that px_json_dumps refused. The encoder visits the whole item, so its errors say where in
// the output the problem is.
static int dump_item(struct px_buf *b, PyObject *value, PyObject *encode, Py_ssize_t index) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;  // a cancel
  PyErr_Clear();
  PyObject *place = PyUnicode_FromFormat("output[%zd]", index);
  PyObject *plain = place ? PyObject_CallFunctionObjArgs(encode, value, place, NULL) : NULL;
  int status = plain ? px_json_dumps(b, plain, encode) : -1;
  Py_XDECREF(place);
  Py_XDECREF(plain);
  return status;
}

int px_emit(struct px_channel *ch, uint8_t kind, uint64_t id, PyObject *value, PyObject *encode, Py_ssize_t index) {
  struct px_buf b = px_buf_take(&reused);
  b.len = 0;
  int status = px_json_dumps(&b, value, encode);
  if (status < 0 && index >= 0 && encode) status = dump_item(&b, value, encode, index);
  if (status == 0 && px_w.nslots == 1) status = px_log_look(ch, id);  // what was printed before it comes before it
  // Checked again: Python code ran, and the prediction of a leftover thread may have ended meanwhile.
  if (status == 0 && px_get(&ch->current) == id) status = emit(ch, kind, id, b.data, b.len);
  px_buf_give_back(&reused, &b, PX_KEEP_ITEM);
  return status;
}

int px_emit_item(struct px_channel *ch, uint8_t kind, uint64_t id, PyObject *value) {
  if (!value) return emit(ch, kind, id, "", 0);
  struct px_buf b = px_buf_take(&reused);
  b.len = 0;
  int status = px_json_dumps(&b, value, NULL);
  if (status == 0) status = emit(ch, kind, id, b.data, b.len);
  px_buf_give_back(&reused, &b, PX_KEEP_ITEM);
  return status;
}

// is_rank: this is a rank of a group. The relay has the next slot's words, by which the front pauses the group.
static bool is_rank;

bool px_stops(struct px_channel *ch) { return is_rank && atomic_load(&ch->page->stop) != 0; }

px_word *px_paused(struct px_channel *ch) { return &ch->page[is_rank].paused; }

int px_wait_resumed(struct px_channel *ch, uint64_t id) {
  px_word *word = px_paused(ch);
  while (atomic_load(word) == id) {
    PyThreadState *state = PyEval_SaveThread();
    px_channel_flush(ch, true);
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT, (uint32_t)id, NULL, NULL, 0);  // a signal ends it too
    PyEval_RestoreThread(state);
    if (px_interrupt_check() < 0) return -1;
  }
  return 0;
}

PyObject *px_use_steps(PX_SELF, PX_NO_ARGS) {
  is_rank = true;
  Py_RETURN_NONE;
}

PyObject *px_step(PX_SELF, PX_NO_ARGS) {
  if (!is_rank || px_w.nslots == 0 || atomic_load(&px_w.is_child)) Py_RETURN_FALSE;
  struct px_slot_page *s = px_w.slots[0]->page;
  uint64_t word = atomic_load(&s->steps), stop;
  while (!(word & 1))
    if (atomic_compare_exchange_weak(&s->steps, &word, word + 2)) Py_RETURN_FALSE;
  if (!(stop = atomic_load(&s->stop))) {
    PyThreadState *state = PyEval_SaveThread();
    while (!(stop = atomic_load(&s->stop)))  // the front names it at once
      syscall(SYS_futex, (uint32_t *)&s->stop, FUTEX_WAIT, 0, NULL, NULL, 0);
    PyEval_RestoreThread(state);
  }
  atomic_store(&s->steps, word + 2);
  return PyBool_FromLong((word >> 1) + 1 == stop);
}

// interrupt ends a generator by the exception that is set. An item: the generator goes on; NULL: it has ended, normally
// or with the exception that is set.
static PyObject *interrupt(PyObject *iterator) {
  bool cancel = px_w.cancel_type && PyErr_ExceptionMatches(px_w.cancel_type);
  PyObject *raised = px_raised();
  if (!raised) return NULL;
  PyObject *item = NULL;
  if (cancel && PyObject_HasAttrString(iterator, "throw")) {
    // The model sees it at its yield, as it would at any other statement.
    item = PyObject_CallMethod(iterator, "throw", "O", raised);
    if (!item && PyErr_ExceptionMatches(PyExc_StopIteration)) PyErr_Clear();
  } else {
    if (PyObject_HasAttrString(iterator, "close")) Py_XDECREF(PyObject_CallMethod(iterator, "close", NULL));
    PyErr_Clear();  // what was raised first counts
    PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
  }
  Py_DecRef(raised);
  return item;
}

void px_send_text(struct px_channel *ch, bool ended) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *done = PyObject_CallFunctionObjArgs(ch->flush_text, ended ? Py_True : Py_False, NULL);
  if (!done) PyErr_Clear();
  Py_XDECREF(done);
  PyErr_Restore(type, value, trace);
}

PyObject *px_yield_all(struct px_channel *ch, uint64_t id, PyObject *iterable, PyObject *encode) {
  PyObject *iterator = PyObject_GetIter(iterable);
  if (!iterator) return NULL;
  PyObject *item = PyIter_Next(iterator);
  for (Py_ssize_t n = 0; item; n++) {
    if (atomic_load(&px_w.is_child)) px_exit_child();
    px_flush_text(ch, false);
    int status = px_emit(ch, PX_OUTPUT, id, item, encode, n);
    Py_DecRef(item);
    if (status == 0) status = px_wait_resumed(ch, id);
    // An iterator that runs no Python code would never notice a cancel.
    if (status == 0 && px_is_canceled(ch->page, id)) status = px_interrupt_check();
    item = status == 0 ? PyIter_Next(iterator) : interrupt(iterator);
  }
  Py_DecRef(iterator);
  return PyErr_Occurred() ? NULL : Py_NewRef(px_w.yielded);
}
