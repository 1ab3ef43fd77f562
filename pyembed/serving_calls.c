// Calls of other models of the server. The front gets one end of a socket for each call, by the channel of the
// prediction that calls, and so knows which it is. Python speaks on the other end: see cog/_worker/calls.py.
#include "serving_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "codec_json.h"
#include "channel_send.h"
#include "channel_slots.h"
#include "channel_worker.h"

// open_call(slot, id) -> int: a socket for a call of a prediction; slot -1 stands for the one that the main thread
// runs. It belongs to the caller.
static PyObject *open_call(PX_SELF, PyObject *args) {
  int slot, ends[2];
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "iK", &slot, &id)) return NULL;
  struct px_channel *ch = px_slot_of(slot < 0 ? 0 : slot);
  if (!ch) return NULL;
  if (slot < 0) id = px_get(&ch->current);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    return PyErr_Format(PyExc_OSError, "make a socket for a call: %s", strerror(errno));
  int own = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);  // the model may have closed its stdin
  int error = errno;
  close(ends[1]);
  if (own >= 0) {
    PyThreadState *state = PyEval_SaveThread();
    px_channel_put_fd(ch, PX_CALLS, id, 0, ends[0]);
    PyEval_RestoreThread(state);
  }
  close(ends[0]);
  if (own < 0) return PyErr_Format(PyExc_OSError, "make a socket for a call: %s", strerror(error));
  return PyLong_FromLong(own);
}

// loads_tensors(bytes) -> object: as loads, but tensors in it are (data, shape, code), and numbers may be NaN or
// infinite.
static PyObject *loads_tensors(PX_SELF, PyObject *data) {
  static const struct px_json_arrays none;
  char *s;
  Py_ssize_t n;
  if (PyBytes_AsStringAndSize(data, &s, &n) < 0) return NULL;
  return px_json_loads_arrays(s, (size_t)n, &none, (struct px_shared){NULL, 0, NULL});
}

PyMethodDef px_call_methods[] = {
    {"open_call", open_call, METH_VARARGS, NULL},
    {"loads_tensors", loads_tensors, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
