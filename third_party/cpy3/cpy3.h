// The C API of CPython 3.10 to 3.15 as a table filled at run time, for C code
// that is compiled without Python.h and linked without libpython.
//
// A file that wants the API under its natural names says where its copy of
// the table's address lies, and then includes this header:
//
//     #include <stddef.h>
//     struct cpy3_api;
//     extern const struct cpy3_api *px_py;
//     #define CPY3 px_py
//     #include "cpy3.h"
//
// after which PyDict_New() means px_py->PyDict_New(), Py_None is the object and
// &PyDict_Type the type. The names are macros: px_py->Py_None no longer
// compiles there. Without CPY3, only the types and the table are declared.
//
// cgo links each package by itself, so the address cannot be a symbol of this
// package. Go hands it over at run time (Library.Table), and the user checks
// `size` once: a stale object file would call through the wrong slots.
//
// The layout of no object is used but its head: cpy3_open notes where an object
// has its type, which differs in free-threaded builds.
#ifndef CPY3_H
#define CPY3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// ---- types ---------------------------------------------------------------

typedef ssize_t Py_ssize_t;
typedef uint32_t Py_UCS4;
typedef struct cpy3_type PyTypeObject;
typedef struct cpy3_thread PyThreadState;
typedef struct cpy3_object PyObject;

typedef enum { PyGILState_LOCKED, PyGILState_UNLOCKED } PyGILState_STATE;

typedef PyObject *(*PyCFunction)(PyObject *self, PyObject *args);
typedef int (*visitproc)(PyObject *, void *);
typedef int (*traverseproc)(PyObject *, visitproc, void *);
typedef int (*inquiry)(PyObject *);
typedef void (*freefunc)(void *);

typedef struct {
  const char *ml_name;
  PyCFunction ml_meth;
  int ml_flags;
  const char *ml_doc;
} PyMethodDef;

enum {
  METH_VARARGS = 0x0001,
  METH_KEYWORDS = 0x0002,
  METH_NOARGS = 0x0004,
  METH_O = 0x0008,
  METH_FASTCALL = 0x0080,
};

typedef struct {
  int slot;
  void *value;
} PyModuleDef_Slot;

// How an object begins in builds with a GIL and in free-threaded ones (3.14 and 3.15). cpy3_open compares the place of the
// type with types of the library. Py_IncRef and Py_DecRef count references.
struct cpy3_head {
  Py_ssize_t references;
  PyTypeObject *type;
};

struct cpy3_free_threaded_head {
  uintptr_t thread;
  uint16_t flags;
  uint8_t mutex, gc_bits;
  uint32_t local_references;
  Py_ssize_t shared_references;
  PyTypeObject *type;
};

typedef struct {
  struct cpy3_free_threaded_head room;  // for the head, which ends with it: PyModule_Create fills it
  PyObject *(*m_init)(void);
  Py_ssize_t m_index;
  PyObject *m_copy;
} PyModuleDef_Base;

typedef struct {
  PyModuleDef_Base m_base;
  const char *m_name;
  const char *m_doc;
  Py_ssize_t m_size;
  PyMethodDef *m_methods;
  PyModuleDef_Slot *m_slots;
  traverseproc m_traverse;
  inquiry m_clear;
  freefunc m_free;
} PyModuleDef;

#define PyModuleDef_HEAD_INIT {{0, 0, 0, 0, 0, 0, NULL}, NULL, 0, NULL}
#define PYTHON_API_VERSION 1013
#define Py_MOD_GIL_NOT_USED ((void *)1)

typedef struct {
  int slot;
  void *pfunc;
} PyType_Slot;

typedef struct {
  const char *name;
  int basicsize;
  int itemsize;
  unsigned int flags;
  PyType_Slot *slots;
} PyType_Spec;

// Numbers of the slots of a PyType_Spec, fixed by the stable ABI (the first since 3.11; 3.10 has the same).
enum { Py_bf_getbuffer = 1, Py_tp_dealloc = 52, Py_tp_free = 74 };

typedef struct {
  void *buf;
  PyObject *obj;
  Py_ssize_t len;
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char *format;
  Py_ssize_t *shape;
  Py_ssize_t *strides;
  Py_ssize_t *suboffsets;
  void *internal;
} Py_buffer;

enum { Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE };
enum { Py_DTSF_SIGN = 1, Py_DTSF_ADD_DOT_0 = 2, Py_DTSF_ALT = 4 };

#define Py_TPFLAGS_HEAPTYPE (1UL << 9)
#define Py_TPFLAGS_DEFAULT (1UL << 18)
#define Py_TPFLAGS_LONG_SUBCLASS (1UL << 24)
#define Py_TPFLAGS_LIST_SUBCLASS (1UL << 25)
#define Py_TPFLAGS_TUPLE_SUBCLASS (1UL << 26)
#define Py_TPFLAGS_UNICODE_SUBCLASS (1UL << 28)
#define Py_TPFLAGS_DICT_SUBCLASS (1UL << 29)
#define Py_TPFLAGS_BASE_EXC_SUBCLASS (1UL << 30)
#define Py_TPFLAGS_TYPE_SUBCLASS (1UL << 31)

#define PY_VECTORCALL_ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))

// ---- the table -----------------------------------------------------------

#include "cpy3_funcs.h"

struct cpy3_api {
  size_t size;  // sizeof(struct cpy3_api) where the table was filled
  size_t head_size, type_at;  // of an object: how long its head is, and where in it the type stands
  bool free_threaded;  // no GIL: a reference that is borrowed from a list or dict may become invalid at any time

#define X(ret, name, args) ret(*name) args;
  CPY3_FUNCS(X)
  CPY3_FUNCS_SIZE_T(X)
  CPY3_FUNCS_OPTIONAL(X)  // NULL where the library has no such function
#undef X

#define X(name) PyTypeObject *name;
  CPY3_TYPES(X)
#undef X
#define X(name, symbol) PyObject *name;
  CPY3_CONSTANTS(X)
#undef X
// Addresses of variables: CPython fills some of them only when it starts.
#define X(name) PyObject **name;
  CPY3_EXCEPTIONS(X)
#undef X
};

#ifdef CPY3
#include "cpy3_names.h"
#include "cpy3_macros.h"
#endif

#endif
