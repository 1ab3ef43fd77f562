// What a prediction tells while it runs.
#include "px_worker.h"

#include "px_json.h"

#define PX_KEEP_ITEM ((size_t)256 << 10)

// A buffer for the next event. It is taken while it is in use, for the encoder
// may run code of the model's that tells something itself. GIL held.
static struct px_buf spare;

static struct px_buf take(void) {
  struct px_buf b = spare;
  spare = (struct px_buf){0};
  return b;
}

static void give_back(struct px_buf *b) {
  if (spare.data) {
    px_buf_free(b);
    return;
  }
  px_buf_trim(b, PX_KEEP_ITEM);
  spare = *b;
}

int px_started(struct px_channel *ch, uint64_t id) {
  if (px_w.nslots == 1) px_log_watch(id);
  if (px_channel_put(ch, PX_STARTED, id, 0, "", 0) < 0) {
    PyErr_NoMemory();
    return -1;
  }
  px_channel_soon(ch);
  return 0;
}

// dump_item writes an item that px_json_dumps refused: the encoder goes over the whole of it, and its errors say
// where in the output the trouble lies.
static int dump_item(struct px_buf *b, PyObject *value, PyObject *encode, Py_ssize_t index) {
  PyErr_Clear();
  PyObject *place = PyUnicode_FromFormat("output[%zd]", index);
  PyObject *plain = place ? PyObject_CallFunctionObjArgs(encode, value, place, NULL) : NULL;
  if (place) Py_DecRef(place);
  if (!plain) return -1;
  int status = px_json_dumps(b, plain, encode);
  Py_DecRef(plain);
  return status;
}

// look marks what was written until now, before an event: at once where Python's streams were written to. What native
// code and other processes write shows in the pipes alone, and asking these before each of many thousand events
// would cost more than all the rest: so they are asked at most once in PX_EVENT_HOLD, and their text may
// stand behind events of that time.
static int look(struct px_channel *ch, uint64_t id) {
  uint64_t now = px_now();
  if (!px_w.wrote && now - px_w.looked < PX_EVENT_HOLD) return 0;
  px_w.wrote = false;
  px_w.looked = now;
  if (px_flush_model() < 0) return -1;
  if (px_log_mark(ch, id) == 0) return 0;
  PyErr_NoMemory();
  return -1;
}

int px_tell(struct px_channel *ch, uint8_t kind, uint64_t id, PyObject *value, PyObject *encode, Py_ssize_t index) {
  struct px_buf b = take();
  int status = px_json_dumps(&b, value, encode);
  if (status < 0 && index >= 0 && encode && !(px_w.cancel_type && PyErr_ExceptionMatches(px_w.cancel_type)))
    status = dump_item(&b, value, encode, index);
  if (status == 0 && px_w.nslots == 1) status = look(ch, id);  // what was printed before it comes before it
  // Asked again: Python code ran, and of a thread of the model's the prediction may have ended meanwhile.
  bool runs = ch->current == id;
  if (status == 0 && runs && px_channel_put(ch, kind, id, 0, b.data, b.len) < 0) {
    PyErr_NoMemory();
    status = -1;
  }
  give_back(&b);
  if (status == 0 && runs) px_channel_soon(ch);
  return status;
}

// close_iterator runs the finally blocks of a generator that is left early. The exception that is set is kept.
static void close_iterator(PyObject *iterator) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *close = PyObject_GetAttrString(iterator, "close");
  PyObject *done = close ? PyObject_CallFunctionObjArgs(close, NULL) : NULL;
  if (!done) PyErr_Clear();  // it is no generator; or what it raises then, which nobody waits for
  if (done) Py_DecRef(done);
  if (close) Py_DecRef(close);
  PyErr_Restore(type, value, trace);
}

PyObject *px_yield_all(struct px_channel *ch, uint64_t id, PyObject *iterable, PyObject *encode) {
  PyObject *iterator = PyObject_GetIter(iterable);
  if (!iterator) return NULL;
  PyObject *item;
  int status = 0;
  for (Py_ssize_t n = 0; status == 0 && (item = PyIter_Next(iterator)); n++) {
    if (atomic_load(&px_w.is_child)) px_leave_child();
    status = px_tell(ch, PX_OUTPUT, id, item, encode, n);
    Py_DecRef(item);
  }
  bool failed = status < 0 || PyErr_Occurred();
  if (status < 0) close_iterator(iterator);
  Py_DecRef(iterator);
  return failed ? NULL : Py_NewRef(px_w.yielded);
}
