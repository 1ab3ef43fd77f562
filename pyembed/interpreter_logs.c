// What a prediction has written: flushing the streams, and marking what is its own.
#include "interpreter_logs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdio_ext.h>  // __fpending
#include <unistd.h>

#include "channel_flusher.h"
#include "channel_marks.h"
#include "process_pipes.h"
#include "process_threads.h"
#include "channel_worker.h"

int px_logs_init(void) {
  for (int i = 0; i < 2; i++) {
    px_w.log_fd[i] = fcntl(1 + i, F_DUPFD_CLOEXEC, 3);
    if (px_w.log_fd[i] < 0) return -1;
  }
  return 0;
}

// The text of native code and other processes shows only in the pipes. To look there before each of many thousand
// events would cost more than the rest, so px_log_look does so at most this often, and such text may come after events
// of that time. The place of text from Python's or C's streams is exact.
#define PX_LOOK 10000  // ns

// What is looked up for each flush.
static struct {
  PyObject *flush, *flush_at_end;  // names of methods
  PyObject *streams[4], *sys;  // names of streams, and the dict that holds them
} names;

int px_logs_load(void) {
  static const char *const streams[] = {"stdout", "stderr", "__stdout__", "__stderr__"};
  names.flush = PyUnicode_InternFromString("flush");
  names.flush_at_end = PyUnicode_InternFromString("flush_at_end");
  bool made = names.flush && names.flush_at_end;
  for (int i = 0; i < 4; i++) made = (names.streams[i] = PyUnicode_InternFromString(streams[i])) && made;
  PyObject *sys = PyImport_AddModule("sys");  // borrowed, as its dict
  names.sys = sys ? PyModule_GetDict(sys) : NULL;
  return made && names.sys ? 0 : -1;
}

// flush_stream flushes one of Python's streams and drops errors; -1 with an exception that is not an Exception.
// Ours (_worker/logs/streams.py) have a way that is shorter, for a prediction's end, and hold nothing if none of them
// was written to, which wrote says.
static int flush_stream(PyObject *stream, bool at_end, bool wrote) {
  if (!stream || stream == Py_None) return 0;
  PyTypeObject *ours = px_w.stream_type;
  if (Py_TYPE(stream) == ours && !wrote) return 0;
  bool is_last = at_end && ours && PyType_IsSubtype(Py_TYPE(stream), ours);
  Py_IncRef(stream);  // the model may replace it while it is flushed
  PyObject *done = PyObject_VectorcallMethod(is_last ? names.flush_at_end : names.flush, &stream, 1, NULL);
  Py_XDECREF(done);
  Py_DecRef(stream);
  if (done) return 0;
  px_set(&px_w.wrote, true);  // it may still hold text
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;  // a cancel
  PyErr_Clear();  // closed or broken
  return 0;
}

// flush_python flushes sys.stdout and sys.stderr, and our streams if the model has replaced them, as flush_stream. At a
// prediction's end all exceptions are dropped.
static int flush_python(bool at_end) {
  // Reset first: what is written meanwhile, even by a flush, sets it again.
  bool wrote = px_get(&px_w.wrote);
  px_set(&px_w.wrote, false);
  for (int i = 0; i < 4; i++) {
    if (i >= 2 && !(wrote |= px_get(&px_w.wrote))) break;
    PyObject *stream = px_lend(names.sys, names.streams[i]);
    int status = flush_stream(stream, at_end, wrote);
    px_return(stream);
    if (status == 0) continue;
    if (!at_end) return -1;
    PyErr_Clear();
  }
  return 0;
}

// flush_model is px_flush_stdio while the model runs. A raised exception that is no Exception, such as a cancel, is the
// model's: 0, or -1 with it set.
static int flush_model(void) {
  if (flush_python(false) < 0) return -1;
  px_flush_c();
  return 0;
}

void px_flush_c(void) {
  // Not fflush(NULL): it waits for the locks of all streams, and a thread that reads from one holds its lock meanwhile.
  if (__fpending(stdout) > 0) fflush(stdout);
  if (__fpending(stderr) > 0) fflush(stderr);
}

void px_flush_stdio(void) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (flush_python(true) < 0) PyErr_Clear();
  px_flush_c();
  PyErr_Restore(type, value, trace);
}

int px_log_end(struct px_channel *ch, uint64_t id) {
  if (atomic_load_explicit(&px_threads_of, memory_order_relaxed) != 0) {
    px_threads_leave();
    px_flush_c();  // what these threads have put into the buffers since the last flush
  }
  pthread_mutex_lock(&px_w.log_mu);
  int status = px_log_mark_locked(ch, px_w.nslots == 1 ? id : 0);
  if (atomic_load_explicit(&px_w.own, memory_order_relaxed)) px_pipes_end(ch);
  pthread_mutex_unlock(&px_w.log_mu);
  return status;
}

int px_log_idle(struct px_channel *ch) {
  if (px_w.nslots != 1) return 0;
  if (px_get(&px_w.wrote)) px_flush_stdio();
  return px_log_mark(ch, 0);
}

void px_log_watch(uint64_t id) {
  atomic_store(&px_w.log_watch, id);
  px_flusher_watch();
}

void px_log_unwatch(void) { atomic_store(&px_w.log_watch, 0); }

bool px_log_live(void) {
  if (atomic_load(&px_w.log_watch) == 0) return false;
  pthread_mutex_lock(&px_w.log_mu);
  // Read again under the lock: main takes the lock for the prediction's last mark, before the next one's text.
  uint64_t id = atomic_load(&px_w.log_watch);
  if (id != 0) px_log_mark_locked(px_w.slots[0], id);
  pthread_mutex_unlock(&px_w.log_mu);
  return id != 0;
}

int px_log_look(struct px_channel *ch, uint64_t id) {
  uint64_t now = px_now();
  if (!px_get(&px_w.wrote) && now - px_get(&px_w.looked) < PX_LOOK && __fpending(stdout) == 0 &&
      __fpending(stderr) == 0)
    return 0;
  px_set(&px_w.looked, now);
  if (flush_model() < 0) return -1;
  if (px_log_mark(ch, id) == 0) return 0;
  PyErr_NoMemory();
  return -1;
}
