// A prediction's own log pipes.
//
// A child inherits stdout and stderr, and may write to them after its prediction has ended. So before a prediction
// makes its first child, the process changes to two pipes of the prediction's own, and back when it ends. What comes
// through those later is unattributed, and the next prediction's logs are exact to the byte. The front gets the read
// ends.
//
// Code that outlived its prediction, a thread or task, is "leftover": its children get unattributed pipes.
#define _GNU_SOURCE  // pipe2
#include "process_pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel_marks.h"
#include "channel_send.h"
#include "channel_worker.h"

#define PX_PIPES_TIMEOUT 1000000000  // ns for the front to let go of the last prediction's pipes

// Set once, by Python, under the GIL.
static struct {
  PyObject *variable, *none;  // the context variable of scopes, and what it holds outside of predictions
  PyObject *local;  // holds the scope of a thread, as its attribute scope; NULL: no thread has one
  PyObject *owner;  // has the scope of the prediction that runs as its attribute running; NULL: px_w.scope is it
} who;

// use_scope_variable(variable, none): where the scope of code is found. use_thread_scopes(local),
// use_task_owner(owner): see above.
static PyObject *use_scope_variable(PX_SELF, PyObject *args) {
  if (!PyArg_ParseTuple(args, "OO", &who.variable, &who.none)) return NULL;
  Py_IncRef(who.variable);
  Py_IncRef(who.none);
  Py_RETURN_NONE;
}

static PyObject *use_thread_scopes(PX_SELF, PyObject *local) {
  who.local = Py_NewRef(local);
  Py_RETURN_NONE;
}

static PyObject *use_task_owner(PX_SELF, PyObject *owner) {
  who.owner = Py_NewRef(owner);
  Py_RETURN_NONE;
}

// is_leftover is px_is_leftover with one slot.
static bool is_leftover(struct px_channel *ch) {
  if (!who.variable || !PyGILState_Check()) return false;
  PyObject *scope = NULL, *running = NULL;
  if (PyContextVar_Get(who.variable, NULL, &scope) == 0 && scope == who.none && who.local) {
    Py_DecRef(scope);
    scope = PyObject_GetAttrString(who.local, "scope");
  }
  if (who.owner) running = PyObject_GetAttrString(who.owner, "running");
  PyErr_Clear();
  PyObject *now = who.owner ? running : px_w.scope;  // running is set until the next one begins
  bool leftover = scope && scope != who.none && scope != Py_None && (scope != now || px_get(&ch->current) == 0);
  Py_XDECREF(scope);
  Py_XDECREF(running);
  return leftover;
}

bool px_is_leftover(void) { return px_w.nslots == 1 && !atomic_load(&px_w.is_child) && is_leftover(px_w.slots[0]); }

// The log pipes' device, and the inodes of the two and of the running prediction's own, or 0.
static dev_t device;
static _Atomic uint64_t inodes[4];

// note_inode notes the inode of a pipe.
static void note_inode(int at, int fd) {
  struct stat s;
  bool open = fd >= 0 && fstat(fd, &s) == 0;
  if (open) device = s.st_dev;  // of all pipes
  atomic_store(&inodes[at], open ? s.st_ino : 0);
}

void px_pipes_note(void) {
  for (int i = 0; i < 2; i++) note_inode(i, px_w.log_fd[i]);
}

int px_pipes_stream(int fd) {
  struct stat s;
  if (fstat(fd, &s) < 0 || s.st_dev != device) return -1;
  for (int i = 0; i < 4; i++)
    if (s.st_ino == atomic_load(&inodes[i])) return i % 2;
  return -1;
}

// is_log(fd) -> bool: whether descriptor 1 or 2 still is a log pipe, and not what the model has put in its place.
static PyObject *is_log(PX_SELF, PyObject *number) {
  long fd = PyLong_AsLong(number);
  if (PyErr_Occurred()) return NULL;
  return PyBool_FromLong(px_pipes_stream((int)fd) == fd - 1);
}

// is_leftover() -> bool: whether a child of this code belongs to a prediction that has ended.
static PyObject *call_is_leftover(PX_SELF, PX_NO_ARGS) { return PyBool_FromLong(px_is_leftover()); }

PyMethodDef px_pipes_methods[] = {
    {"is_leftover", call_is_leftover, METH_NOARGS, NULL},
    {"is_log", is_log, METH_O, NULL},
    {"use_scope_variable", use_scope_variable, METH_VARARGS, NULL},
    {"use_thread_scopes", use_thread_scopes, METH_O, NULL},
    {"use_task_owner", use_task_owner, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

// make_pipe makes a pipe and sends the front its read end: by the control channel, if it is unattributed. Its write
// end, or -1.
static int make_pipe(struct px_channel *ch, uint64_t id, int source) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return -1;
  int end = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);  // the model may have closed its stdin
  close(ends[1]);
  if (end >= 0) px_channel_put_fd(ch, PX_LOG_PIPE, id, (uint64_t)source, ends[0]);
  close(ends[0]);
  return end;
}

// make_unattributed is px_pipes_unattributed with log_mu held.
static void make_unattributed(void) {
  for (int i = 0; i < 2; i++)
    if (px_w.unattributed[i] == 0 && (px_w.unattributed[i] = make_pipe(&px_w.control, 0, i)) < 0)
      px_w.unattributed[i] = 0;
}

void px_pipes_unattributed(void) {
  pthread_mutex_lock(&px_w.log_mu);
  make_unattributed();
  pthread_mutex_unlock(&px_w.log_mu);
}

// await_release waits until the front has released the previous pipes; false: it has not, or takes no more. With log_mu
// held.
static bool await_release(struct px_channel *ch) {
  uint64_t until = px_now() + PX_PIPES_TIMEOUT;
  while (atomic_load(&px_w.page->own_ended) != px_w.own_ended) {
    px_channel_flush(ch, false);
    if (px_now() > until) return false;
    usleep(50);
  }
  return atomic_load(&px_w.page->own_full) == 0;
}

// use_own_pipes changes to pipes of the running prediction's own. With log_mu held.
static void use_own_pipes(struct px_channel *ch, uint64_t id) {
  if (!await_release(ch)) return;
  px_log_mark_locked(ch, id);  // what lies in the others comes before
  for (int i = 0; i < 2; i++) {
    px_w.own_fd[i] = -1;
    px_w.own_seen[i] = 0;
    if (px_pipes_stream(1 + i) != i) continue;  // the model has redirected it
    px_w.own_fd[i] = make_pipe(ch, id, i);
    note_inode(2 + i, px_w.own_fd[i]);
    if (px_w.own_fd[i] >= 0) dup2(px_w.own_fd[i], 1 + i);
  }
  atomic_store(&px_w.own, px_w.own_fd[0] >= 0 || px_w.own_fd[1] >= 0);
}

bool px_pipes_before_child(int unattributed[2], bool take_gil) {
  unattributed[0] = unattributed[1] = -1;
  if (!px_w.page || px_w.forking_worker || atomic_load(&px_w.is_child) || px_w.nslots != 1) return false;
  struct px_channel *ch = px_w.slots[0];
  int error = errno;
  bool taken = take_gil && PyGILState_GetThisThreadState() && !PyGILState_Check();
  PyGILState_STATE state = taken ? PyGILState_Ensure() : PyGILState_UNLOCKED;
  bool leftover = is_leftover(ch);
  if (taken) PyGILState_Release(state);
  pthread_mutex_lock(&px_w.log_mu);
  uint64_t id = px_get(&ch->current);
  if (leftover) {
    make_unattributed();
    for (int i = 0; i < 2; i++)
      if (px_w.unattributed[i] > 0 && px_pipes_stream(1 + i) == i) unattributed[i] = px_w.unattributed[i];
  } else if (id != 0 && !atomic_load(&px_w.own)) {
    use_own_pipes(ch, id);
  }
  pthread_mutex_unlock(&px_w.log_mu);
  errno = error;
  return unattributed[0] >= 0 || unattributed[1] >= 0;
}

void px_pipes_end(struct px_channel *ch) {
  for (int i = 0; i < 2; i++) {
    if (px_w.own_fd[i] < 0) continue;
    if (px_pipes_stream(1 + i) == i) dup2(px_w.log_fd[i], 1 + i);
    note_inode(2 + i, -1);
    close(px_w.own_fd[i]);
    px_w.own_fd[i] = -1;
  }
  atomic_store(&px_w.own, false);
  px_w.own_ended++;
  px_channel_put(ch, PX_LOG_PIPES_END, 0, 0, "", 0);
}
