// The built-in module _px: what Python sees of the worker.
#include "serving_module.h"

#include "serving_batch.h"
#include "serving_batchloop.h"
#include "serving_calls.h"
#include "interpreter_cancel.h"
#include "serving_control.h"
#include "serving_events.h"
#include "process_crash.h"
#include "interpreter_exit.h"
#include "interpreter_interrupt.h"
#include "codec_json.h"
#include "interpreter_logs.h"
#include "channel_marks.h"
#include "process_pipes.h"
#include "serving_preload.h"
#include "serving_request.h"
#include "interpreter_scope.h"
#include "channel_send.h"
#include "serving_items.h"
#include "serving_loop.h"
#include "interpreter_stack.h"
#include "interpreter_substitute.h"
#include "serving_tasks.h"
#include "process_threads.h"
#include "interpreter_waiter.h"
#include "interpreter_waitmethods.h"
#include "channel_worker.h"

// loads(bytes) -> object
static PyObject *loads(PX_SELF, PyObject *data) {
  char *s;
  Py_ssize_t n;
  if (PyBytes_AsStringAndSize(data, &s, &n) < 0) return NULL;
  return px_json_loads(s, (size_t)n);
}

// dumps(object, fallback) -> bytes
static PyObject *dumps(PX_SELF, PyObject *args) {
  PyObject *o, *fallback, *result = NULL;
  if (!PyArg_ParseTuple(args, "OO", &o, &fallback)) return NULL;
  struct px_buf out = {0};
  if (px_json_dumps(&out, o, fallback == Py_None ? NULL : fallback) == 0)
    result = PyBytes_FromStringAndSize(out.data, (Py_ssize_t)out.len);
  px_buf_free(&out);
  return result;
}

// control(kind, object, id=0): sends a frame on the control channel.
static PyObject *control(PX_SELF, PyObject *args) {
  int kind;
  unsigned long long id = 0;
  PyObject *o;
  if (!PyArg_ParseTuple(args, "iO|K", &kind, &o, &id)) return NULL;
  struct px_buf body = {0};
  int status = px_json_dumps(&body, o, NULL);
  if (status == 0) {
    PyThreadState *state = PyEval_SaveThread();
    status = px_channel_put(&px_w.control, (uint8_t)kind, id, 0, body.data, body.len);
    px_channel_flush(&px_w.control, true);
    PyEval_RestoreThread(state);
    if (status < 0) PyErr_NoMemory();
  }
  px_buf_free(&body);
  if (status < 0) return NULL;
  Py_RETURN_NONE;
}

// log_positions() -> (stdout, stderr): flushes, and says how much was ever written.
static PyObject *log_positions(PX_SELF, PX_NO_ARGS) {
  px_flush_stdio();
  pthread_mutex_lock(&px_w.log_mu);
  px_log_positions(px_w.log_seen);
  pthread_mutex_unlock(&px_w.log_mu);
  return Py_BuildValue("KK", (unsigned long long)px_w.log_seen[0], (unsigned long long)px_w.log_seen[1]);
}

// log_switched(): the model changes from one of its streams to the other. It marks what both pipes hold so far: the
// pipes alone do not show their order. The caller has flushed Python's side.
static PyObject *log_switched(PX_SELF, PX_NO_ARGS) {
  if (!px_w.page || atomic_load(&px_w.is_child)) Py_RETURN_NONE;  // the text of an import belongs to no prediction
  px_flush_c();
  // Not the page's running word: a traceback is written after it is 0.
  uint64_t current = px_w.nslots == 1 ? px_get(&px_w.slots[0]->current) : 0;
  if (current == 0 && px_w.nslots > 0) Py_RETURN_NONE;  // between predictions
  if (px_log_mark(current ? px_w.slots[0] : &px_w.control, current) < 0) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

#define PX_PARTIAL 1000000000  // ns that a stream may hold text without the end of a line

// note_write(): the model writes to one of Python's streams. True: they may hold text for so long that they are to be
// flushed.
static PyObject *note_write(PX_SELF, PX_NO_ARGS) {
  static _Atomic uint64_t since;  // the first write after the last flush
  uint64_t now = px_now();
  bool wrote = px_get(&px_w.wrote), due = wrote && now - px_get(&since) >= PX_PARTIAL;
  if (due || !wrote) px_set(&since, now);
  px_set(&px_w.wrote, true);
  return PyBool_FromLong(due);
}

// set_stream_type(type): the type of our streams, which call note_write and have a method flush_at_end.
static PyObject *set_stream_type(PX_SELF, PyObject *type) {
  px_w.stream_type = (PyTypeObject *)Py_NewRef(type);
  Py_RETURN_NONE;
}

// next_health() -> id: waits for the front to ask for the model's check; 0: the worker is to leave. Any thread.
static PyObject *next_health(PX_SELF, PX_NO_ARGS) {
  PyThreadState *state = PyEval_SaveThread();
  uint64_t id = px_wait_health();
  PyEval_RestoreThread(state);
  return PyLong_FromUnsignedLongLong(id);
}

// idle() -> bool: whether the model has no prediction at this moment.
static PyObject *idle(PX_SELF, PX_NO_ARGS) {
  bool busy = false;
  for (int i = 0; i < px_w.nslots; i++) busy |= px_get(&px_w.slots[i]->current) != 0;
  return PyBool_FromLong(!busy);
}

// memory() -> (live, total): blocks that the C code holds and ever took.
static PyObject *memory(PX_SELF, PX_NO_ARGS) {
  return Py_BuildValue("KK", (unsigned long long)px_mem_live(), (unsigned long long)px_mem_total());
}

// is_child() -> bool: whether this process was forked from the worker.
static PyObject *is_child(PX_SELF, PX_NO_ARGS) { return PyBool_FromLong(atomic_load(&px_w.is_child)); }

// exit_child(exception): ends a forked child that came back from the model's code, by this exception or with None.
static PyObject *exit_child(PX_SELF, PyObject *raised) {
  if (raised != Py_None) PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
  px_exit_child();
  Py_RETURN_NONE;
}

// is_list_of(list, type) -> bool: whether it is a list with nothing in it but objects of just that type.
static PyObject *is_list_of(PX_SELF, PyObject *const *args, Py_ssize_t n) {
  if (n != 2 || !PyList_CheckExact(args[0])) Py_RETURN_FALSE;
  PyObject *list = px_py->free_threaded ? PySequence_List(args[0]) : Py_NewRef(args[0]);  // a copy does not change
  if (!list) return NULL;
  bool is = true;
  Py_ssize_t size = PyList_Size(list);
  for (Py_ssize_t i = 0; is && i < size; i++) is = (PyObject *)Py_TYPE(PyList_GetItem(list, i)) == args[1];
  Py_DecRef(list);
  return PyBool_FromLong(is);
}

static PyMethodDef methods[] = {
    {"loads", loads, METH_O, NULL},
    {"dumps", dumps, METH_VARARGS, NULL},
    {"control", control, METH_VARARGS, NULL},
    {"log_positions", log_positions, METH_NOARGS, NULL},
    {"log_switched", log_switched, METH_NOARGS, NULL},
    {"note_write", note_write, METH_NOARGS, NULL},
    {"set_stream_type", set_stream_type, METH_O, NULL},
    {"memory", memory, METH_NOARGS, NULL},
    {"idle", idle, METH_NOARGS, NULL},
    {"next_health", next_health, METH_NOARGS, NULL},
    {"is_child", is_child, METH_NOARGS, NULL},
    {"exit_child", exit_child, METH_O, NULL},
    {"is_list_of", (PyCFunction)(void (*)(void))is_list_of, METH_FASTCALL, NULL},
    {"serve", px_serve, METH_O, NULL},
    {"serve_slot", px_serve_slot, METH_VARARGS, NULL},
    {"serve_batches", px_serve_batches, METH_O, NULL},
    {"use_steps", px_use_steps, METH_NOARGS, NULL},
    {"step", px_step, METH_NOARGS, NULL},
    {"scope", px_scope, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_px",
    .m_doc = "The worker's C half, for cog._worker alone.",
    .m_size = -1,
    .m_methods = methods,
};

PyObject *px_module_init(void) {
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  PyObject *config = PyBytes_FromString(px_w.config);
  int status = config ? PyObject_SetAttrString(module, "config", config) : -1;
  if (config) Py_DecRef(config);
  px_w.yielded = PyUnicode_FromString("what was yielded");  // compared by identity
  if (status == 0) status = px_w.yielded ? PyObject_SetAttrString(module, "YIELDED", px_w.yielded) : -1;
  PyMethodDef *more[] = {px_task_methods,   px_preload_methods,   px_request_methods, px_pipes_methods,
                         px_call_methods,   px_thread_methods,    px_batch_methods,   px_substitute_methods,
                         px_cancel_methods, px_interrupt_methods, px_wait_methods,    px_crash_methods,
                         px_stack_methods,  px_waiter_methods,    px_item_methods};
  for (size_t i = 0; status == 0 && i < sizeof more / sizeof *more; i++)
    status = PyModule_AddFunctions(module, more[i]);
  if (status == 0) status = px_logs_load();
  if (status == 0) status = px_waiter_load();
  if (status == 0) return module;
  Py_DecRef(module);
  return NULL;
}
