// The stack of the thread that runs a prediction, which the front may ask for.
//
// Python's fault handler writes it to a memory file: by a signal to that thread, so it needs no GIL, and no other
// thread is looked at while it runs. Then the handler of the cancel signal has Python say what tasks and the other
// threads do, as soon as main runs Python code.
#define _GNU_SOURCE  // memfd_create, tgkill
#include "interpreter_stack.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "channel_send.h"
#include "channel_worker.h"

#define PX_STACK_SIGNAL (SIGRTMAX - 10)
#define PX_STACK_MAX ((size_t)64 << 10)
#define PX_STACK_SLOTS 1024  // see ipc.StackID
#define PX_STACK_TIMEOUT 4  // s that the thread has to take the signal

static struct {
  int fd;  // the memory file; -1: the worker is not ready
  struct sigaction fault_handler;
  sem_t written;
  _Atomic uint64_t id;  // of the request that is being answered, or 0
  _Atomic uint64_t pending;  // of the prediction that Python is to look at, or 0
  _Atomic bool finishes;  // the handler of the cancel signal calls px_stack_finish
} stack = {.fd = -1};

static void write_stack(int sig) {
  stack.fault_handler.sa_handler(sig);
  sem_post(&stack.written);
}

static void answer(uint64_t id, const char *text, size_t n) {
  if (px_channel_put(&px_w.control, PX_STACK, id, 0, text, n) == 0) px_channel_flush(&px_w.control, true);
}

// send_signal signals the thread of a slot, or main if the slot has no thread. true: it signaled main.
static bool send_signal(int slot) {
  if (slot < px_w.nslots) {
    struct px_channel *ch = px_w.slots[slot];
    pthread_mutex_lock(&ch->interrupt_mu);
    bool own = ch->thread != 0;
    if (own && !ch->thread_ended) pthread_kill(ch->thread, PX_STACK_SIGNAL);
    pthread_mutex_unlock(&ch->interrupt_mu);
    if (own) return false;
  }
  syscall(SYS_tgkill, getpid(), getpid(), PX_STACK_SIGNAL);
  return true;
}

static void *take(void *unused) {
  (void)unused;
  uint64_t id = atomic_load(&stack.id);
  char *text = px_malloc(PX_STACK_MAX);
  ssize_t n = 0;
  while (sem_trywait(&stack.written) == 0) continue;  // written by a thread after its timeout
  bool ready = text && ftruncate(stack.fd, 0) == 0 && lseek(stack.fd, 0, SEEK_SET) == 0;
  bool on_main = ready && send_signal((int)(id % PX_STACK_SLOTS));
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PX_STACK_TIMEOUT;
  if (ready && sem_timedwait(&stack.written, &until) == 0) n = pread(stack.fd, text, PX_STACK_MAX, 0);
  answer(id, text, n > 0 ? (size_t)n : 0);
  px_free(text);
  atomic_store(&stack.id, 0);
  if (on_main && atomic_load(&stack.finishes)) {
    atomic_store(&stack.pending, id);
    syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1);
  }
  return NULL;
}

void px_stack_use_signal(bool calls) { atomic_store(&stack.finishes, calls); }

void px_stack_ask(uint64_t id) {
  uint64_t none = 0;
  pthread_t thread;
  if (stack.fd < 0 || !atomic_compare_exchange_strong(&stack.id, &none, id)) {
    answer(id, "", 0);
  } else if (px_create_thread(&thread, take) < 0) {
    atomic_store(&stack.id, 0);
    answer(id, "", 0);
  } else {
    pthread_detach(thread);
  }
}

void px_stack_finish(PyObject *handler) {
  uint64_t id = atomic_exchange(&stack.pending, 0);
  if (id == 0) return;
  PyObject *module = PyImport_ImportModule("cog._worker.serve.stacks");
  PyObject *sent = module ? PyObject_CallMethod(module, "report", "iKO", (int)(id % PX_STACK_SLOTS),
                                                (unsigned long long)id, handler ? handler : Py_None)
                          : NULL;
  if (!sent) PyErr_WriteUnraisable(Py_None);  // the front has a timeout
  Py_XDECREF(sent);
  Py_XDECREF(module);
}

// open_stack() -> (signal, fd): what the fault handler is to be registered for, and the file that it writes to.
static PyObject *open_stack(PX_SELF, PX_NO_ARGS) {
  int fd = memfd_create("stack", MFD_CLOEXEC);
  if (fd < 0) return PyErr_SetFromErrno(PyExc_OSError);
  return Py_BuildValue("ii", PX_STACK_SIGNAL, fd);
}

// give_stacks(fd): tells the front that it may ask for stacks. The fault handler is registered.
static PyObject *give_stacks(PX_SELF, PyObject *file) {
  struct sigaction act = {.sa_handler = write_stack, .sa_flags = SA_ONSTACK | SA_RESTART};
  sigemptyset(&act.sa_mask);
  long fd = PyLong_AsLong(file);
  if (fd < 0) return NULL;
  if (sem_init(&stack.written, 0, 0) < 0 || sigaction(PX_STACK_SIGNAL, &act, &stack.fault_handler) < 0)
    return PyErr_SetFromErrno(PyExc_OSError);
  stack.fd = (int)fd;
  Py_RETURN_NONE;
}

PyMethodDef px_stack_methods[] = {
    {"open_stack", open_stack, METH_NOARGS, NULL},
    {"give_stacks", give_stacks, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
