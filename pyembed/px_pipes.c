// A prediction's own log pipes.
//
// A child inherits stdout and stderr and writes to them for as long as it lives, which may be longer than its prediction.
// So before a prediction makes its first child the process goes over to two pipes of the prediction's own, and back when
// it ends: what comes through those after that is nobody's, and what the next prediction writes is its own to the byte.
// The front reads them; the worker tells it their read ends.
//
// A thread or task that outlived its prediction gives its children pipes that are nobody's from the beginning.
#define _GNU_SOURCE  // pipe2
#include "px_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PX_PATIENCE 1000000000  // ns for the front to let go of the last prediction's pipes

// Set once, by Python, under the GIL.
static struct {
  PyObject *variable, *none;  // the context variable of scopes, and what it holds outside of predictions
  PyObject *local;            // holds the scope of a thread, as its attribute scope; NULL: no thread has one
  PyObject *strays;           // has the scope of the prediction that runs as its attribute running; NULL: px_w.scope is it
} who;

// whose(variable, none): where the scope of code is found. whose_thread(local), whose_task(strays): see above.
static PyObject *whose(PyObject *self, PyObject *args) {
  (void)self;
  if (!PyArg_ParseTuple(args, "OO", &who.variable, &who.none)) return NULL;
  Py_IncRef(who.variable);
  Py_IncRef(who.none);
  Py_RETURN_NONE;
}

static PyObject *whose_thread(PyObject *self, PyObject *local) {
  (void)self;
  who.local = Py_NewRef(local);
  Py_RETURN_NONE;
}

static PyObject *whose_task(PyObject *self, PyObject *strays) {
  (void)self;
  who.strays = Py_NewRef(strays);
  Py_RETURN_NONE;
}

PyMethodDef px_pipes_methods[] = {
    {"whose", whose, METH_VARARGS, NULL},
    {"whose_thread", whose_thread, METH_O, NULL},
    {"whose_task", whose_task, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

// is_stray tells whether the code of this thread belongs to a prediction that has ended. Without the GIL nobody can tell.
// It runs no Python code: a signal's handler would raise where nobody takes it.
static bool is_stray(struct px_channel *ch) {
  if (!who.variable || !PyGILState_Check()) return false;
  PyObject *scope = NULL, *running = NULL;
  if (PyContextVar_Get(who.variable, NULL, &scope) == 0 && scope == who.none && who.local) {
    Py_DecRef(scope);
    scope = PyObject_GetAttrString(who.local, "scope");
  }
  if (who.strays) running = PyObject_GetAttrString(who.strays, "running");
  PyErr_Clear();
  PyObject *now = who.strays ? running : px_w.scope;  // running is set until the next one begins
  bool stray = scope && scope != who.none && scope != Py_None && (scope != now || ch->current == 0);
  Py_XDECREF(scope);
  Py_XDECREF(running);
  return stray;
}

// same tells whether two descriptors are of one pipe.
static bool same(int a, int b) {
  struct stat x, y;
  return a >= 0 && b >= 0 && fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// make makes a pipe whose read end the front gets, by the control channel where it is nobody's. Its write end, or -1.
static int make(struct px_channel *ch, uint64_t id, int source) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return -1;
  int end = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);  // the model may have closed its stdin
  close(ends[1]);
  if (end >= 0) px_channel_put_fd(ch, PX_LOG_PIPE, id, (uint64_t)source, ends[0]);
  close(ends[0]);
  return end;
}

// is_free waits until the front has let go of the pipes before. With log_mu held.
static bool is_free(struct px_channel *ch) {
  uint64_t until = px_now() + PX_PATIENCE;
  while (atomic_load(&px_w.page->own_ended) != px_w.own_ended) {
    px_channel_flush(ch, false);
    if (px_now() > until) return false;
    usleep(50);
  }
  return atomic_load(&px_w.page->own_full) == 0;
}

// go_over gives the running prediction pipes of its own. With log_mu held.
static void go_over(struct px_channel *ch, uint64_t id) {
  if (!is_free(ch)) return;
  px_log_mark_locked(ch, id);  // what lies in the others comes before
  for (int i = 0; i < 2; i++) {
    px_w.own_fd[i] = -1;
    px_w.own_seen[i] = 0;
    if (!same(1 + i, px_w.log_fd[i])) continue;  // the model has redirected it
    px_w.own_fd[i] = make(ch, id, i);
    if (px_w.own_fd[i] >= 0) dup2(px_w.own_fd[i], 1 + i);
  }
  atomic_store(&px_w.own, px_w.own_fd[0] >= 0 || px_w.own_fd[1] >= 0);
}

bool px_pipes_before_child(int nobodys[2], bool take_gil) {
  nobodys[0] = nobodys[1] = -1;
  if (!px_w.page || px_w.begetting || atomic_load(&px_w.is_child) || px_w.nslots != 1) return false;
  struct px_channel *ch = px_w.slots[0];
  int error = errno;
  bool taken = take_gil && PyGILState_GetThisThreadState() && !PyGILState_Check();
  PyGILState_STATE state = taken ? PyGILState_Ensure() : PyGILState_UNLOCKED;
  bool stray = is_stray(ch);
  if (taken) PyGILState_Release(state);
  pthread_mutex_lock(&px_w.log_mu);
  uint64_t id = __atomic_load_n(&ch->current, __ATOMIC_RELAXED);
  if (stray) {
    for (int i = 0; i < 2; i++) {
      if (px_w.nobodys[i] == 0 && (px_w.nobodys[i] = make(&px_w.control, 0, i)) < 0) px_w.nobodys[i] = 0;
      if (px_w.nobodys[i] > 0 && same(1 + i, atomic_load(&px_w.own) && px_w.own_fd[i] >= 0 ? px_w.own_fd[i] : px_w.log_fd[i]))
        nobodys[i] = px_w.nobodys[i];
    }
  } else if (id != 0 && !atomic_load(&px_w.own)) {
    go_over(ch, id);
  }
  pthread_mutex_unlock(&px_w.log_mu);
  errno = error;
  return nobodys[0] >= 0 || nobodys[1] >= 0;
}

void px_pipes_end(struct px_channel *ch) {
  for (int i = 0; i < 2; i++) {
    if (px_w.own_fd[i] < 0) continue;
    if (same(1 + i, px_w.own_fd[i])) dup2(px_w.log_fd[i], 1 + i);
    close(px_w.own_fd[i]);
    px_w.own_fd[i] = -1;
  }
  atomic_store(&px_w.own, false);
  px_w.own_ended++;
  px_channel_put(ch, PX_LOG_PIPES_END, 0, 0, "", 0);
}
