// Arrays of a request that are views of its memory file, without a copy.
//
// An array's buffer is an object of the type that is made here: numpy, views of the array, memoryviews and other
// libraries hold it as long as anything can reach the elements. If one is left when the request ends, the worker keeps
// the file, and the answer says so: the front uses it for no other request. The pages then become private, so that the
// model may still write to them while the front sends an answer from there. They do so before a fork too: what the
// model and its child write later, the other one does not see.
#include "codec_views.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base_mem.h"
#include "codec_shared.h"

#define ALIGNED 16  // as the memory of malloc is
#define COPIED 16  // requests that are copied after a model has kept an array: new files cost more than copies
#define PART 16  // a smaller part of the memory is copied: a model that keeps it would hold all of the memory
#define MOST 4096  // requests of which arrays are kept without a copy: each takes a mapping, of which there are 65 530
#define PAGE 4096u

struct px_views {
  struct px_shared shared;
  size_t body;  // bytes of it that arrays may use
  int fd;  // valid while this is px_views_current
  int arrays;  // that are in use; px_guard
  bool own;  // the pages are this process's own
  bool returned;  // the request has ended; px_guard
};

// An array's buffer.
struct elements {  // behind the head of an object
  struct px_views *views;
  char *at;
  size_t size;
};

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
struct px_views *px_views_current;  // written with the GIL and mu held
static int copied;  // requests still to be copied; main
static _Atomic int kept;  // requests of which arrays are left

// own_pages makes the pages of arrays private. Where that fails, the process ends: a child or the front would see what
// the model writes later, or the pages are gone. mu held.
static void own_pages(struct px_views *v) {
  if (v->own) return;
  v->own = true;
  if (mmap(v->shared.at, v->body, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, v->fd, 0) != MAP_FAILED) return;
  fprintf(stderr, "pinion worker: make the pages of arrays private: %s\n", strerror(errno));
  _exit(1);
}

static void end(struct px_views *v) {
  kept--;
  munmap(v->shared.at, v->body);
  px_free(v);
}

struct px_shared px_shared_views_file(int fd, uint64_t room) {
  struct px_shared shared = px_shared_map_file(fd);
  if (!shared.at || kept == MOST || room % PAGE != 0 || room > shared.size) return shared;
  if (copied > 0) {
    copied--;
    return shared;
  }
  struct px_views *v = px_malloc(sizeof *v);
  if (!v) return shared;  // it is copied
  *v = (struct px_views){.shared = shared, .body = room, .fd = fd};
  pthread_mutex_lock(&mu);
  px_views_current = v;
  pthread_mutex_unlock(&mu);
  shared.views = v;
  return shared;
}

// within reports whether arrays may use these bytes.
static bool within(const struct px_views *v, uint64_t offset, uint64_t size) {
  return v && offset <= v->body && size <= v->body - offset;
}

bool px_views_cover(const struct px_views *v, uint64_t offset, uint64_t size) {
  return within(v, offset, size) && !v->own;
}

bool px_views_finish(void) {
  struct px_views *v = px_views_current;
  px_guard();
  bool arrays = v->arrays > 0;
  px_unguard();
  pthread_mutex_lock(&mu);
  px_views_current = NULL;
  bool keep = arrays || v->own;
  if (keep) own_pages(v);
  pthread_mutex_unlock(&mu);
  if (!keep) {
    px_free(v);
    return false;
  }
  kept++;
  copied = COPIED;
  px_shared_forget(v->shared.at);
  munmap(v->shared.at + v->body, v->shared.size - v->body);
  px_guard();
  v->returned = true;
  bool unused = v->arrays == 0;
  px_unguard();
  if (unused) end(v);
  return true;
}

void px_views_before_fork(void) {
  pthread_mutex_lock(&mu);  // until the fork is over
  if (px_views_current) own_pages(px_views_current);
}

void px_views_after_fork(void) { pthread_mutex_unlock(&mu); }

static void elements_free(PyObject *o) {
  struct px_views *v = ((struct elements *)cpy3_body(o))->views;
  PyTypeObject *type = Py_TYPE(o);
  px_guard();
  bool last = v && --v->arrays == 0 && v->returned;
  px_unguard();
  if (last) end(v);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(o);
  Py_DECREF(type);
}

static int elements_buffer(PyObject *o, Py_buffer *view, int flags) {
  struct elements *e = cpy3_body(o);
  return PyBuffer_FillInfo(view, o, e->at, (Py_ssize_t)e->size, 0, flags);
}

// elements_type returns the type, which it makes once. NULL with an exception.
static PyTypeObject *elements_type(void) {
  static PyTypeObject *type;
  if (type) return type;
  PyType_Slot slots[] = {{Py_tp_dealloc, (void *)elements_free}, {Py_bf_getbuffer, (void *)elements_buffer}, {0, NULL}};
  PyType_Spec spec = {"_px.Elements", (int)(px_py->head_size + sizeof(struct elements)), 0, Py_TPFLAGS_DEFAULT, slots};
  return type = (PyTypeObject *)PyType_FromSpec(&spec);
}

PyObject *px_views_elements(struct px_shared shared, uint64_t offset, uint64_t size) {
  struct px_views *v = shared.views;
  char *at = shared.at + offset;
  if ((uintptr_t)at % ALIGNED != 0 || !within(v, offset, size) || size < v->body / PART)
    return PyByteArray_FromStringAndSize(at, (Py_ssize_t)size);
  PyTypeObject *type = elements_type();
  PyObject *o = type ? PyType_GenericAlloc(type, 0) : NULL;
  if (!o) return NULL;
  *(struct elements *)cpy3_body(o) = (struct elements){v, at, size};
  px_guard();
  v->arrays++;
  px_unguard();
  return o;
}
