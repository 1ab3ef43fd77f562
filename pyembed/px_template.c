// A template: the process that has imported the model's modules, and from which workers are forked.
//
// A fork has one thread, the one that forked. So a template may have no thread that the model would miss: none of ours
// (they are started in the worker), and none of the model's, which is looked at in the last moment before each
// fork, when libraries that end their threads for it, as OpenBLAS does, have done so. Go's remain: they are idle
// for good, and no Go runs in a worker, be it forked or not.
//
// A worker is the template's grandchild: the process between them ends at once, and the front, which is the
// "subreaper" of all that it started, becomes the worker's parent. So the front waits for it, kills it and judges its
// end as if it had started it, and glibc's own fork() is used, which knows what has to be put right in the child:
// clone(CLONE_PARENT) would leave that undone.
#define _GNU_SOURCE  // pipe2
#include "px_worker.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "px_main.h"

#define NAME_SIZE 16  // of a thread, as the kernel keeps it
#define MAX_STRANGERS 32
#define HANDLES 4  // of a worker: control, page, stdout, stderr

static struct {
  const struct px_config *config;
  char go_name[NAME_SIZE];  // of Go's threads, which were there before main got another name
  int strangers;            // threads that the fork would miss
  struct {
    int tid;
    char name[NAME_SIZE];
  } stranger[MAX_STRANGERS];
  int handles[HANDLES];  // of the worker that is to be forked, or -1
  pid_t self;
} tmpl;

static void drop_handles(void) {
  for (int i = 0; i < HANDLES; i++) {
    if (tmpl.handles[i] >= 0) close(tmpl.handles[i]);
    tmpl.handles[i] = -1;
  }
}

int px_template_init(const struct px_config *config) {
  tmpl.config = config;
  tmpl.self = getpid();
  for (int i = 0; i < HANDLES; i++) tmpl.handles[i] = -1;
  // A thread has its name from the one that makes it. Go's are made by Go's, main being Python's from now on.
  prctl(PR_GET_NAME, tmpl.go_name);
  prctl(PR_SET_NAME, "px-template");
  return px_channel_init(&px_w.control, config->control_fd, NULL, NULL);
}

// name_of reads the name of one of our threads; false where it has ended.
static bool name_of(const char *tid, char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", tid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, name, NAME_SIZE);
  close(fd);
  if (n <= 0) return false;
  name[n - 1] = '\0';  // a newline stands there
  return true;
}

static void count_strangers(void) {
  tmpl.strangers = 0;
  DIR *dir = opendir("/proc/self/task");
  if (!dir) {  // nothing can be told: nothing is forked
    tmpl.stranger[0].tid = 0;
    strcpy(tmpl.stranger[0].name, "no /proc");
    tmpl.strangers = 1;
    return;
  }
  for (struct dirent *e; (e = readdir(dir)) && tmpl.strangers < MAX_STRANGERS;) {
    char name[NAME_SIZE];
    int tid = atoi(e->d_name);
    if (tid <= 0 || tid == tmpl.self || !name_of(e->d_name, name) || strcmp(name, tmpl.go_name) == 0) continue;
    tmpl.stranger[tmpl.strangers].tid = tid;
    memcpy(tmpl.stranger[tmpl.strangers++].name, name, NAME_SIZE);
  }
  closedir(dir);
}

void px_template_look(void) {
  if (!px_w.begetting || getpid() != tmpl.self) return;
  // A thread that was joined may be seen for a moment more.
  for (int tries = 0; tries < 20; tries++) {
    count_strangers();
    if (tmpl.strangers == 0) return;
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  }
}

// beget forks as Python's own fork does, but that it makes no child of the model's. GIL held.
static pid_t beget(void) {
  px_flush_stdio();  // lest both processes write what is buffered
  PyOS_BeforeFork();
  px_w.begetting = true;
  pid_t pid = fork();
  if (pid != 0) {
    int saved = errno;
    px_w.begetting = false;
    PyOS_AfterFork_Parent();
    errno = saved;
  }
  return pid;
}

// pid_from reads the number that is told by a pipe, or returns -1. A signal of the model's may come meanwhile.
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

// template_look() -> [(thread id, name)]: the threads that a fork would miss, by a fork that is of no use.
static PyObject *template_look(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  pid_t pid = beget();
  if (pid == 0) _exit(0);
  if (pid < 0) return PyErr_SetFromErrno(PyExc_OSError);
  wait_for(pid);
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < tmpl.strangers; i++) {
    PyObject *item = Py_BuildValue("is", tmpl.stranger[i].tid, tmpl.stranger[i].name);
    if (!item || PyList_Append(list, item) < 0) {
      Py_DecRef(list);
      list = NULL;
    }
    if (item) Py_DecRef(item);
  }
  return list;
}

// cuda_started() -> bool: whether the CUDA driver was initialised in this process, which no fork of it survives.
static PyObject *cuda_started(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
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

// become makes this process, just forked, the worker whose handles came with the request. Where that fails, the
// front learns by its exit what it learns of any worker that cannot start.
static void become(void) {
  const struct px_config *config = tmpl.config;
  setpgid(0, 0);
  close(px_w.control.fd);
  px_free(px_w.control.in);
  px_buf_free(&px_w.control.out);
  px_w.begotten = true;
  prctl(PR_SET_NAME, "pinion");
  memset(config->title, 0, config->title_len);
  snprintf(config->title, config->title_len, "pinion: worker");
  if (dup2(tmpl.handles[2], 1) < 0 || dup2(tmpl.handles[3], 2) < 0) _exit(1);
  close(tmpl.handles[2]);
  close(tmpl.handles[3]);
  if (px_connect(tmpl.handles[0], tmpl.handles[1]) != 0) _exit(1);
  PyOS_AfterFork_Child();
  px_w.begetting = false;
}

// answer tells the front what became of its request.
static void answer(pid_t pid, const char *error) {
  char body[160];
  int n = error ? snprintf(body, sizeof body, "{\"error\":\"%s\"}", error)
                : snprintf(body, sizeof body, "{\"pid\":%d}", (int)pid);
  if (px_channel_put(&px_w.control, PX_FORKED, 0, 0, body, (size_t)n) == 0) px_channel_flush(&px_w.control, true);
}

// fork_one forks the worker of a request. true: this process is the worker.
static bool fork_one(void) {
  int told[2];
  for (int i = 0; i < HANDLES; i++) {
    if (tmpl.handles[i] >= 0) continue;
    answer(0, "a descriptor is missing");
    return false;
  }
  if (pipe2(told, O_CLOEXEC) < 0) {
    answer(0, "no pipe could be made");
    return false;
  }
  pid_t worker, between = beget();
  if (between == 0) {
    worker = tmpl.strangers ? -1 : fork();
    if (worker == 0) {
      close(told[0]);
      close(told[1]);
      become();
      return true;
    }
    if (worker > 0) setpgid(worker, worker);  // whoever comes first: the front may kill its group at once
    _exit(write(told[1], &worker, sizeof worker) == sizeof worker ? 0 : 1);
  }
  close(told[1]);
  worker = between > 0 ? pid_from(told[0]) : -1;
  close(told[0]);
  if (between > 0) wait_for(between);  // so that the worker is the front's by now
  if (worker > 0) {
    answer(worker, NULL);
  } else {
    answer(0, tmpl.strangers ? "the template has threads by now" : "fork failed");
  }
  return false;
}

// next takes requests in until one is whole: its body, a new reference; NULL, without an exception where the front is
// gone.
static PyObject *next(void) {
  for (;;) {
    struct px_frame f;
    int n;
    while ((n = px_channel_next(&px_w.control, &f)) > 0) {
      if (f.kind == PX_HANDLE && f.fd >= 0 && f.id < HANDLES) {
        if (tmpl.handles[f.id] >= 0) close(tmpl.handles[f.id]);
        tmpl.handles[f.id] = f.fd;
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

// fork_workers() -> bytes: forks a worker for each request. In each of them it returns the request; in the template
// it returns None once the front is gone.
static PyObject *fork_workers(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  for (;;) {
    PyObject *request = next();
    if (!request && PyErr_Occurred()) return NULL;
    if (!request) Py_RETURN_NONE;
    if (fork_one()) return request;
    drop_handles();
    Py_DecRef(request);
  }
}

// start_worker(): starts what a worker has besides Python, once its environment is right.
static PyObject *start_worker(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  const struct px_config *config = tmpl.config;
  if (config->cuda_start && config->cuda_start(config->cuda_options) != 0)
    fprintf(stderr, "pinion worker: CUDA could not be started\n");  // it serves without
  if (px_start_threads() < 0) return PyErr_SetFromErrno(PyExc_OSError);
  Py_RETURN_NONE;
}

PyMethodDef px_template_methods[] = {
    {"template_look", template_look, METH_NOARGS, NULL},
    {"cuda_started", cuda_started, METH_NOARGS, NULL},
    {"fork_workers", fork_workers, METH_NOARGS, NULL},
    {"start_worker", start_worker, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
