// The preload process: it has imported the model's modules, and forks the workers.
//
// A fork has only the thread that forked. So the preload process may have no thread that the model would miss: none of
// ours, which the worker starts, and none of the model's. px_foreign_find looks for these right before each
// fork, when libraries such as OpenBLAS have already ended theirs for it. Go's threads remain, idle for good: no Go
// runs in a worker.
//
// A worker is the grandchild: the process between them ends at once. Then the front, the "subreaper" of all its
// descendants, becomes the worker's parent, so it waits for the worker and kills it as if it had started it. glibc's
// fork() repairs what must be repaired in a child; clone(CLONE_PARENT), which would need no process between, does not.
// The process between shares the memory of this one (vfork), so page tables are copied once.
#define _GNU_SOURCE  // pipe2
#include "serving_preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "serving_config.h"
#include "serving_control.h"
#include "process_foreign.h"
#include "interpreter_logs.h"
#include "channel_receive.h"
#include "channel_send.h"
#include "channel_worker.h"

#define HANDLES 4  // of a worker: control, page, stdout, stderr
#define PX_HAS_THREADS "the preload process has threads by now"

static struct {
  const struct px_config *config;
  int handles[HANDLES];  // of the worker that is to be forked, or -1
} preload;

static void drop_handles(void) {
  for (int i = 0; i < HANDLES; i++) {
    if (preload.handles[i] >= 0) close(preload.handles[i]);
    preload.handles[i] = -1;
  }
}

int px_preload_init(const struct px_config *config) {
  preload.config = config;
  for (int i = 0; i < HANDLES; i++) preload.handles[i] = -1;
  px_foreign_init();
  // A thread inherits its name from its creator. Main is Python's from now on, so Go's threads keep the old name.
  prctl(PR_SET_NAME, "px-preload");
  return px_channel_init(&px_w.control, config->control_fd, NULL, NULL);
}

// begin_fork and end_fork surround a fork, as Python does, whose child is not one of the model's. GIL held.
static void begin_fork(void) {
  px_flush_stdio();  // else both processes would write what is buffered
  PyOS_BeforeFork();
  px_w.forking_worker = true;
}

static void end_fork(void) {
  int saved = errno;
  px_w.forking_worker = false;
  PyOS_AfterFork_Parent();
  errno = saved;
}

// pid_from reads a pid from a pipe, or returns -1. A signal of the model's may interrupt it.
static pid_t pid_from(int fd) {
  pid_t pid;
  ssize_t n;
  do n = read(fd, &pid, sizeof pid);
  while (n < 0 && errno == EINTR);
  return n == sizeof pid ? pid : -1;
}

static void wait_for(pid_t pid) {
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
}

// foreign_threads(safe) -> [(thread id, name, library)]: the threads that a fork would lack, without those whose ids
// are in the list safe. It forks a process for that, which ends.
static PyObject *foreign_threads(PX_SELF, PyObject *safe) {
  Py_ssize_t n = PyList_Size(safe);
  if (n < 0) return NULL;
  for (Py_ssize_t i = 0; i < n; i++) px_foreign_excuse((int)PyLong_AsLong(PyList_GetItem(safe, i)));
  if (PyErr_Occurred()) return NULL;
  begin_fork();
  pid_t pid = fork();
  if (pid == 0) _exit(0);
  end_fork();
  if (pid < 0) return PyErr_SetFromErrno(PyExc_OSError);
  wait_for(pid);
  PyObject *list = PyList_New(0);
  const struct px_foreign *found;
  for (int i = 0, count = px_foreign_found(&found); list && i < count; i++)
    if (px_append(list, Py_BuildValue("iss", found[i].tid, found[i].name, found[i].library)) < 0) Py_CLEAR(list);
  return list;
}

// cuda_started() -> bool: whether this process initialised the CUDA driver, which no fork survives.
static PyObject *cuda_started(PX_SELF, PX_NO_ARGS) {
  const int not_initialized = 3;  // CUDA_ERROR_NOT_INITIALIZED, Data types used by CUDA driver
  bool started = false;
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver) {
    int (*current)(void **) = NULL;
    *(void **)&current = dlsym(driver, "cuCtxGetCurrent");
    void *context = NULL;
    started = current && current(&context) != not_initialized;
    dlclose(driver);
  }
  return PyBool_FromLong(started);
}

// register_rseq registers this thread's restartable sequences with the kernel, as glibc did in the preload process: a
// process made by vfork has none that its fork could inherit. Where glibc has none (before 2.35) there is nothing to do.
static void register_rseq(void) {
#if defined(SYS_rseq) && (defined(__x86_64__) || defined(__aarch64__))
#ifdef __x86_64__
  const unsigned signature = 0x53053053;
#else
  const unsigned signature = 0xd428bc00;
#endif
  const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
  const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
  if (!offset || !size || *size == 0) return;
  char *area = (char *)__builtin_thread_pointer() + *offset;
  // Refused if the kernel still has it: QEMU's vfork is a fork.
  syscall(SYS_rseq, area, 32U, 0, signature);
#endif
}

// become makes this forked process the worker whose handles came with the request. If that fails, the process exits, as
// any worker that cannot start.
static void become(void) {
  const struct px_config *config = preload.config;
  register_rseq();
  px_foreign_forget();
  setpgid(0, 0);
  close(px_w.control.fd);
  px_free(px_w.control.in);
  px_buf_free(&px_w.control.out);
  px_w.forked = true;
  prctl(PR_SET_NAME, "pinion");
  memset(config->title, 0, config->title_len);
  snprintf(config->title, config->title_len, "pinion: worker");
  if (dup2(preload.handles[2], 1) < 0 || dup2(preload.handles[3], 2) < 0) _exit(1);
  close(preload.handles[2]);
  close(preload.handles[3]);
  if (px_connect(preload.handles[0], preload.handles[1]) != 0) _exit(1);
  PyOS_AfterFork_Child();
  px_w.forking_worker = false;
}

// answer sends the front the result of its request.
static void answer(pid_t pid, const char *error) {
  char body[160];
  int n = error ? snprintf(body, sizeof body, "{\"error\":\"%s\"}", error)
                : snprintf(body, sizeof body, "{\"pid\":%d}", (int)pid);
  if (px_channel_put(&px_w.control, PX_FORKED, 0, 0, body, (size_t)n) == 0) px_channel_flush(&px_w.control, true);
}

// fork_one forks the worker of a request. true: this process is the worker.
static bool fork_one(void) {
  int result[2];
  for (int i = 0; i < HANDLES; i++) {
    if (preload.handles[i] >= 0) continue;
    answer(0, "a descriptor is missing");
    return false;
  }
  if (pipe2(result, O_CLOEXEC) < 0) {
    answer(0, "no pipe could be made");
    return false;
  }
  const struct px_foreign *foreign;
  begin_fork();
  pid_t worker, between = vfork();
  if (between == 0) {
    worker = fork();
    if (worker == 0) {
      if (px_foreign_found(&foreign)) _exit(1);
      close(result[0]);
      close(result[1]);
      become();
      return true;
    }
    if (worker > 0 && px_foreign_found(&foreign)) {
      wait_for(worker);
      worker = -1;
    }
    if (worker > 0) setpgid(worker, worker);  // both sides do this: the front may kill the group at once
    _exit(write(result[1], &worker, sizeof worker) == sizeof worker ? 0 : 1);
  }
  end_fork();
  close(result[1]);
  worker = between > 0 ? pid_from(result[0]) : -1;
  close(result[0]);
  if (between > 0) wait_for(between);  // then the worker is the front's child
  if (worker > 0) {
    answer(worker, NULL);
  } else {
    answer(0, px_foreign_found(&foreign) ? PX_HAS_THREADS : "fork failed: the system lacks memory or processes");
  }
  return false;
}

// next waits for a whole request and returns its body, a new reference. NULL without an exception: the front is gone.
static PyObject *next(void) {
  for (;;) {
    struct px_frame f;
    int n;
    while ((n = px_channel_next(&px_w.control, &f)) > 0) {
      if (f.kind == PX_HANDLE && f.fd >= 0 && f.id < HANDLES) {
        if (preload.handles[f.id] >= 0) close(preload.handles[f.id]);
        preload.handles[f.id] = f.fd;
      } else if (f.kind == PX_FORK) {
        PyObject *body = PyBytes_FromStringAndSize(f.body, (Py_ssize_t)f.len);
        px_frame_done(&f);
        return body;
      } else if (f.fd >= 0) {
        close(f.fd);
      }
      px_frame_done(&f);
    }
    if (n < 0) return NULL;
    PyThreadState *state = PyEval_SaveThread();
    n = px_channel_fill(&px_w.control, true);
    int saved = errno;
    PyEval_RestoreThread(state);
    if (n > 0 || (n < 0 && saved == EINTR && PyErr_CheckSignals() == 0)) continue;
    return NULL;
  }
}

// fork_workers() -> bytes: forks a worker for each request. In each worker it returns the request; in the preload
// process it returns None when the front is gone.
static PyObject *fork_workers(PX_SELF, PX_NO_ARGS) {
  for (;;) {
    PyObject *request = next();
    if (!request && PyErr_Occurred()) return NULL;
    if (!request) Py_RETURN_NONE;
    if (fork_one()) return request;
    drop_handles();
    Py_DecRef(request);
  }
}

// start_worker(): starts CUDA and our threads, once the environment is the worker's.
static PyObject *start_worker(PX_SELF, PX_NO_ARGS) {
  const struct px_config *config = preload.config;
  if (config->cuda_start && config->cuda_start(config->cuda_options) != 0)
    fprintf(stderr, "pinion worker: CUDA could not be started\n");  // it serves without CUDA
  if (px_start_threads() < 0) return PyErr_SetFromErrno(PyExc_OSError);
  Py_RETURN_NONE;
}

PyMethodDef px_preload_methods[] = {
    {"foreign_threads", foreign_threads, METH_O, NULL},
    {"cuda_started", cuda_started, METH_NOARGS, NULL},
    {"fork_workers", fork_workers, METH_NOARGS, NULL},
    {"start_worker", start_worker, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
