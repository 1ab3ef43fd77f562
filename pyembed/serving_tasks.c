// The functions with which an asyncio loop serves many slots: Python schedules,
// C moves the bytes. All of them: main thread, GIL held.
#include "serving_tasks.h"

#include <errno.h>
#include <sys/epoll.h>

#include "serving_batch.h"
#include "channel_busypoll.h"
#include "serving_control.h"
#include "serving_events.h"
#include "serving_items.h"
#include "channel_flusher.h"
#include "codec_json.h"
#include "interpreter_logs.h"
#include "channel_marks.h"
#include "process_pipes.h"
#include "channel_receive.h"
#include "serving_reply.h"
#include "serving_request.h"
#include "channel_send.h"
#include "codec_shared.h"
#include "channel_slots.h"
#include "channel_worker.h"

#define PX_LOG_ALONE ((size_t)64 << 10)   // bytes; a longer piece of log may block until the front has room
#define PX_LONG 86400                     // seconds; the longest wait, because a longer one would overflow
#define PX_ASK_EVERY 50000  // ns; turns of the loop that do not wait ask no more often whether something is ready
#define PX_READY 64  // descriptors that one iteration of the loop reads; the next iteration reads the rest
#define PX_EVENT_READ 1  // as in Python's selectors
#define PX_EVENT_WRITE 2
#define PX_LOG_BACKLOG ((size_t)4 << 20)  // bytes; more log than this is not queued

// share_socket(n, on_turn) -> fd: waits until the front has passed the socket of n slots; -1 where the worker is to
// leave. What they emit in one turn of this thread's loop then leaves together. on_turn() has the loop call flush after
// the turn; None: it calls select.
static PyObject *share_socket(PX_SELF, PyObject *args) {
  int n;
  PyObject *on_turn;
  if (!PyArg_ParseTuple(args, "iO", &n, &on_turn)) return NULL;
  PyThreadState *state = PyEval_SaveThread();
  int fd = px_share_socket(n);
  PyEval_RestoreThread(state);
  if (fd == -2) return PyErr_NoMemory();
  if (fd >= 0) px_w.slots[0]->turns = true;
  if (on_turn != Py_None) px_w.on_turn = Py_NewRef(on_turn);
  return PyLong_FromLong(fd);
}

// slots(n) -> [fd, …]: waits until the front passed n sockets; fewer where the worker is to leave.
static PyObject *slots(PX_SELF, PyObject *args) {
  int n;
  if (!PyArg_ParseTuple(args, "i", &n)) return NULL;
  PyThreadState *state = PyEval_SaveThread();
  int have = px_wait_slots(n);
  PyEval_RestoreThread(state);
  PyObject *fds = PyList_New(0);
  for (int i = 0; fds && i < have; i++)
    if (px_append(fds, PyLong_FromLong(px_w.slots[i]->fd)) < 0) Py_CLEAR(fds);
  return fds;
}

// request_of makes (id, flags, message, error) of a frame. error is None, or the exception if the body is invalid.
static PyObject *request_of(const struct px_frame *f) {
  PyObject *message = px_request_read(f, px_shared_map(f->file)), *raised = message ? NULL : px_raised();
  if (!message && !raised) return NULL;
  PyObject *id = PyLong_FromUnsignedLongLong(f->id), *flags = PyLong_FromLong(f->flags), *request = NULL;
  if (id && flags) request = PyTuple_Pack(4, id, flags, message ? message : Py_None, raised ? raised : Py_None);
  Py_XDECREF(id);
  Py_XDECREF(flags);
  Py_XDECREF(message);
  Py_XDECREF(raised);
  return request;
}

// receive(slot) -> [(id, flags, message, error), …], or None at the end: all requests that its socket has, without
// waiting. Items of a streamed input come between them, as px_item_read makes them.
static PyObject *receive(PX_SELF, PyObject *slot) {
  struct px_channel *ch;
  if (!px_slot_arg(slot, &ch)) return NULL;
  int n = px_fill(ch, false);
  if (n == 0) Py_RETURN_NONE;
  if (n < 0 && errno != EAGAIN) goto broken;
  PyObject *list = PyList_New(0);
  if (!list) return NULL;
  struct px_frame f;
  while ((n = px_channel_next(ch, &f)) > 0) {
    int status = f.kind == PX_PREDICT ? px_append(list, request_of(&f)) : 0;
    if (f.kind == PX_ITEM || f.kind == PX_ITEMS_END) status = px_append(list, px_item_read(&f));
    px_frame_done(&f);
    if (status < 0) {
      Py_DecRef(list);
      return NULL;
    }
  }
  if (n == 0) return list;
  Py_DecRef(list);
broken:
  return PyErr_Format(PyExc_OSError, "read from the front: %s", strerror(errno));
}

// quiet reports whether requests arrive one at a time, and none is in progress.
static bool quiet(void) {
  for (int i = 0; i < px_w.nslots; i++)
    if (px_get(&px_w.slots[i]->current) || px_w.slots[i]->taken > 1) return false;
  return true;
}

// add_ready appends (key, events) to list, with the events that selectors count. 0, or -1 with an exception.
static int add_ready(PyObject *list, PyObject *keys, const struct epoll_event *e) {
  PyObject *fd = PyLong_FromLong(e->data.fd);
  PyObject *key = fd ? PyDict_GetItemWithError(keys, fd) : NULL;  // borrowed: (fileobj, fd, events, data)
  Py_XDECREF(fd);
  if (!key) return PyErr_Occurred() ? -1 : 0;
  PyObject *wanted = PyTuple_GetItem(key, 2);
  long events = wanted ? PyLong_AsLong(wanted) : 0;
  if (PyErr_Occurred()) return -1;
  events &=
      (e->events & ~(uint32_t)EPOLLOUT ? PX_EVENT_READ : 0) | (e->events & ~(uint32_t)EPOLLIN ? PX_EVENT_WRITE : 0);
  PyObject *n = PyLong_FromLong(events);
  int status = px_append(list, n ? PyTuple_Pack(2, key, n) : NULL);
  Py_XDECREF(n);
  return status;
}

// select(fd, seconds, keys) -> [(key, events), …]: what is ready of an epoll descriptor, after at most so many seconds;
// None: any time. keys are the SelectorKeys by their descriptors. See serve/loop.py.
static PyObject *select_ready(PX_SELF, PyObject *const *args, Py_ssize_t n) {
  static unsigned short_waits;  // of the one loop
  static uint64_t asked;  // when it asked last, ns
  if (n != 3) return PyErr_Format(PyExc_TypeError, "select takes 3 arguments, not %zd", n);
  int fd = (int)PyLong_AsLong(args[0]);
  double seconds = args[1] == Py_None ? -1 : PyFloat_AsDouble(args[1]);
  if (PyErr_Occurred()) return NULL;
  if (px_w.nslots > 0 && px_w.slots[0]->turns) px_channel_end_turn(px_w.slots[0]);
  bool waits = args[1] == Py_None || seconds > 0;
  uint64_t now = px_now();
  if (!waits && now - asked < PX_ASK_EVERY) return PyList_New(0);
  asked = now;
  int64_t most = seconds < 0 ? -1 : seconds < PX_LONG ? (int64_t)(seconds * 1e9) + 1 : (int64_t)PX_LONG * 1000000000;
  unsigned *of_quiet = quiet() ? &short_waits : NULL;
  struct epoll_event ready[PX_READY];
  PyThreadState *state = PyEval_SaveThread();
  int status = waits ? px_wait(fd, of_quiet, most) : 1, count = 0;
  if (status > 0) status = count = epoll_pwait(fd, ready, PX_READY, 0, NULL);
  PyEval_RestoreThread(state);
  if (status < 0 && errno != EINTR) return PyErr_SetFromErrno(PyExc_OSError);
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < count; i++)
    if (add_ready(list, args[2], &ready[i]) < 0) Py_CLEAR(list);
  return list;
}

// claim(slot, id, at_once=False) -> bool: takes a request for the model; False: the front took it back. at_once: the
// one before has just ended, so there is no text in between.
static PyObject *claim(PX_SELF, PyObject *const *args, Py_ssize_t n) {
  if (n < 2 || n > 3) return PyErr_Format(PyExc_TypeError, "claim takes 2 or 3 arguments, not %zd", n);
  bool at_once = n == 3 && args[2] == Py_True;
  struct px_channel *ch;
  if (!px_slot_arg(args[0], &ch)) return NULL;
  uint64_t id = PyLong_AsUnsignedLongLong(args[1]);
  if (PyErr_Occurred()) return NULL;
  bool claimed = px_claim(ch->page, id);
  if (claimed && px_get(&ch->current) == 0 && !at_once && px_log_idle(ch) < 0) return PyErr_NoMemory();
  if (claimed) px_set(&ch->current, id);
  return PyBool_FromLong(claimed);
}

// reply(slot, id, kind, value, nanos, metrics, encode, fail): see px_reply.
static PyObject *reply(PX_SELF, PyObject *const *args, Py_ssize_t n) {
  if (n != 8) return PyErr_Format(PyExc_TypeError, "reply takes 8 arguments, not %zd", n);
  struct px_channel *ch;
  if (!px_slot_arg(args[0], &ch)) return NULL;
  uint64_t id = PyLong_AsUnsignedLongLong(args[1]), nanos = PyLong_AsUnsignedLongLong(args[4]);
  long kind = PyLong_AsLong(args[2]);
  if (PyErr_Occurred() || px_reply(ch, (uint8_t)kind, id, args[3], nanos, args[5], args[6], args[7]) < 0) return NULL;
  Py_RETURN_NONE;
}

// started(slot, id): reports that the model has a prediction now.
static PyObject *started(PX_SELF, PyObject *args) {
  struct px_channel *ch;
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "O&K", px_slot_arg, &ch, &id) || px_started(ch, id) < 0) return NULL;
  Py_RETURN_NONE;
}

// put_times(slot, id, took, prepared): see px_put_times.
static PyObject *put_times(PX_SELF, PyObject *args) {
  struct px_channel *ch;
  unsigned long long id, took, prepared;
  if (!PyArg_ParseTuple(args, "O&KKK", px_slot_arg, &ch, &id, &took, &prepared)) return NULL;
  px_put_times(ch, id, took, prepared);
  Py_RETURN_NONE;
}

// emit(slot, id, kind, value, encode, index) -> bool: sends an event of a prediction that still runs; see px_emit.
// True: the front wants no more items for now.
static PyObject *emit(PX_SELF, PyObject *const *args, Py_ssize_t n) {
  if (n != 6) return PyErr_Format(PyExc_TypeError, "emit takes 6 arguments, not %zd", n);
  struct px_channel *ch;
  if (!px_slot_arg(args[0], &ch)) return NULL;
  uint64_t id = PyLong_AsUnsignedLongLong(args[1]);
  long kind = PyLong_AsLong(args[2]);
  PyObject *value = args[3], *encode = args[4];
  Py_ssize_t index = PyLong_AsSsize_t(args[5]);
  if (PyErr_Occurred()) return NULL;
  if (px_get(&ch->current) == id && !atomic_load(&px_w.is_child) &&
      px_emit(ch, (uint8_t)kind, id, value, encode == Py_None ? NULL : encode, index) < 0)
    return NULL;
  return PyBool_FromLong(atomic_load(px_paused(ch)) == id);
}

// wait_resumed(slot, id): waits until the front wants items of that prediction again.
static PyObject *wait_resumed(PX_SELF, PyObject *args) {
  struct px_channel *ch;
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "O&K", px_slot_arg, &ch, &id) || px_wait_resumed(ch, id) < 0) return NULL;
  Py_RETURN_NONE;
}

// emit_all(slot, id, items, encode): emits every item of an iterable as it comes; see px_yield_all.
static PyObject *emit_all(PX_SELF, PyObject *args) {
  struct px_channel *ch;
  unsigned long long id;
  PyObject *items, *encode;
  if (!PyArg_ParseTuple(args, "O&KOO", px_slot_arg, &ch, &id, &items, &encode)) return NULL;
  bool turns = ch->wire->turns;
  ch->wire->turns = false;  // the iterator blocks the loop
  PyObject *yielded = px_yield_all(ch, id, items, encode);
  ch->wire->turns = turns;
  return yielded;
}

// flush(slot): sends the answers that are queued.
static PyObject *flush(PX_SELF, PyObject *slot) {
  struct px_channel *ch;
  if (!px_slot_arg(slot, &ch)) return NULL;
  px_flush_with_gil(ch);
  Py_RETURN_NONE;
}

// arm_flusher(): answers still queued in 100 to 200 µs are then sent by the flusher, though the loop be blocked. What
// was queued at the last call must be sent.
static PyObject *arm_flusher(PX_SELF, PX_NO_ARGS) {
  px_flusher_arm_loop();
  Py_RETURN_NONE;
}

// log(slot, id, source, text, record=""): a piece of a prediction's log that Python has separated. It leaves
// within 200 µs, even if the loop is blocked. It waits for the front if that is far behind, as a write to a full pipe
// does. With id 0 the text is unattributed and goes by the control channel, which the front always reads. With
// record, the text is one record of the server's log, of which these are JSON members.
static PyObject *log_text(PX_SELF, PyObject *args) {
  int i;
  unsigned long long id;
  PyObject *source, *text;
  const char *record = "";
  if (!PyArg_ParseTuple(args, "iKOO|s", &i, &id, &source, &text, &record)) return NULL;
  struct px_channel *ch = id ? px_slot_of(i) : &px_w.control;
  if (!ch) return NULL;
  struct px_buf body = {0};
  int status = px_buf_put(&body, "{\"source\":", 10);
  if (status == 0) status = px_json_dumps(&body, source, NULL);
  if (status == 0) status = px_buf_put(&body, ",\"data\":", 8);
  if (status == 0) status = px_json_dumps(&body, text, NULL);
  if (status == 0 && *record) {
    status = px_buf_put(&body, ",\"record\":{", 11);
    if (status == 0) status = px_buf_put(&body, record, strlen(record));
    if (status == 0) status = px_buf_putc(&body, '}');
  }
  if (status == 0) status = px_buf_putc(&body, '}');
  if (status == 0) {
    PyThreadState *state = body.len > PX_LOG_ALONE ? PyEval_SaveThread() : NULL;
    status = px_channel_put(ch, PX_LOG, id, 0, body.data, body.len);
    if (state) PyEval_RestoreThread(state);
  }
  px_buf_free(&body);
  if (status < 0) {
    if (!PyErr_Occurred()) PyErr_NoMemory();
    return NULL;
  }
  if (id == 0 || px_channel_backlog(ch) > PX_LOG_BACKLOG)
    px_flush_with_gil(ch);
  else
    px_flusher_arm_for(ch);
  Py_RETURN_NONE;
}

// log_record(stream, size, record): the next size bytes that the caller writes to a stream, 1 or 2, are one record of the
// server's log, as in log. The frame comes before the text, so that the front has it when it logs the text.
static PyObject *log_record(PX_SELF, PyObject *args) {
  int stream;
  Py_ssize_t size;
  const char *record;
  if (!PyArg_ParseTuple(args, "ins", &stream, &size, &record)) return NULL;
  if (!px_w.page || atomic_load(&px_w.is_child) || px_pipes_stream(stream) != stream - 1) Py_RETURN_NONE;
  // As in log_switched: a traceback is written after the page's running word is 0.
  uint64_t current = px_w.nslots == 1 ? px_get(&px_w.slots[0]->current) : 0;
  struct px_channel *ch = current ? px_w.slots[0] : &px_w.control;
  if (px_log_record(ch, current, stream - 1, (size_t)size, record) < 0) return PyErr_NoMemory();
  if (current)
    px_flusher_arm_for(ch);
  else
    px_flush_with_gil(ch);
  Py_RETURN_NONE;
}

// is_canceled(slot, id) -> bool: the end of what runs there was asked for.
static PyObject *is_canceled(PX_SELF, PyObject *args) {
  struct px_channel *ch;
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "O&K", px_slot_arg, &ch, &id)) return NULL;
  return PyBool_FromLong(px_is_canceled(ch->page, id) || px_stops(ch));
}

PyMethodDef px_task_methods[] = {
    {"slots", slots, METH_VARARGS, NULL},
    {"share_socket", share_socket, METH_VARARGS, NULL},
    {"receive", receive, METH_O, NULL},
    {"select", (PyCFunction)(void (*)(void))select_ready, METH_FASTCALL, NULL},
    {"claim", (PyCFunction)(void (*)(void))claim, METH_FASTCALL, NULL},
    {"reply", (PyCFunction)(void (*)(void))reply, METH_FASTCALL, NULL},
    {"started", started, METH_VARARGS, NULL},
    {"put_times", put_times, METH_VARARGS, NULL},
    {"emit_all", emit_all, METH_VARARGS, NULL},
    {"emit", (PyCFunction)(void (*)(void))emit, METH_FASTCALL, NULL},
    {"wait_resumed", wait_resumed, METH_VARARGS, NULL},
    {"flush", flush, METH_O, NULL},
    {"arm_flusher", arm_flusher, METH_NOARGS, NULL},
    {"log", log_text, METH_VARARGS, NULL},
    {"log_record", log_record, METH_VARARGS, NULL},
    {"is_canceled", is_canceled, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
