// Functions of ours in the place of functions of the standard library that are written in C.
//
// A Python function in their place differs: as an attribute of a class it becomes a method, and it has another type and
// cannot be pickled by its name. So each gets a function in C that looks like the one before, and calls ours.
#include "interpreter_substitute.h"

#include <stdlib.h>
#include <string.h>

#include "channel_worker.h"

#define PX_SUBSTITUTES 8

static struct substitute {
  PyMethodDef definition;
  PyObject *_Atomic function;  // what is called
} substitutes[PX_SUBSTITUTES];

// A function in C does not know by which definition it was called, so each place has one.
#define CALL(i) \
  static PyObject *call_##i(PX_SELF, PyObject *args, PyObject *named) { \
    return PyObject_Call(px_get(&substitutes[i].function), args, named); \
  }
// clang-format off
CALL(0) CALL(1) CALL(2) CALL(3) CALL(4) CALL(5) CALL(6) CALL(7)
    // clang-format on

    typedef PyObject *with_names(PyObject *, PyObject *, PyObject *);
static with_names *const calls[PX_SUBSTITUTES] = {call_0, call_1, call_2, call_3, call_4, call_5, call_6, call_7};

char *px_doc_of(PyObject *like) {
  PyObject *name = PyObject_GetAttrString(like, "__name__"), *doc = PyObject_GetAttrString(like, "__doc__");
  PyObject *signature = PyObject_GetAttrString(like, "__text_signature__"), *text = NULL;
  char *copy = NULL;
  if (name && doc && signature && signature != Py_None)
    text = PyUnicode_FromFormat("%U%U\n--\n\n%S", name, signature, doc);
  else if (name && doc && signature)
    text = PyObject_Str(doc);
  const char *utf8 = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  if (utf8 && !(copy = strdup(utf8))) PyErr_NoMemory();
  Py_XDECREF(name);
  Py_XDECREF(doc);
  Py_XDECREF(signature);
  Py_XDECREF(text);
  return copy;
}

// substitute(like, function) -> a function in C that has the look of the first and calls the second.
static PyObject *substitute(PX_SELF, PyObject *args) {
  PyObject *like, *function, *result = NULL;
  if (!PyArg_ParseTuple(args, "OO", &like, &function)) return NULL;
  int at = 0;
  while (at < PX_SUBSTITUTES && px_get(&substitutes[at].function)) at++;
  if (at == PX_SUBSTITUTES) return PyErr_Format(PyExc_RuntimeError, "there is no room for another function");
  struct substitute *s = &substitutes[at];
  PyObject *name = PyObject_GetAttrString(like, "__name__"), *owner = NULL, *module = NULL;
  const char *utf8 = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
  if (utf8 && (owner = PyObject_GetAttrString(like, "__self__")) &&
      (module = PyObject_GetAttrString(like, "__module__"))) {
    // They live as long as the process.
    s->definition =
        (PyMethodDef){.ml_name = strdup(utf8), .ml_flags = METH_VARARGS | METH_KEYWORDS, .ml_doc = px_doc_of(like)};
    s->definition.ml_meth = (PyCFunction)(void (*)(void))calls[at];
    if (s->definition.ml_name && s->definition.ml_doc) result = PyCFunction_NewEx(&s->definition, owner, module);
  }
  if (result) px_set(&s->function, Py_NewRef(function));
  Py_XDECREF(name);
  Py_XDECREF(owner);
  Py_XDECREF(module);
  return result;
}

// retype(object, type): makes an object one of a subclass of its type that adds nothing to it, which Python refuses for
// types in C. The caller has compared the sizes and offsets of the two.
static PyObject *retype(PX_SELF, PyObject *args) {
  PyObject *o;
  PyTypeObject *type;
  if (!PyArg_ParseTuple(args, "OO", &o, &type)) return NULL;
  PyTypeObject *before = Py_TYPE(o);
  unsigned long heap = PyType_GetFlags(before) & Py_TPFLAGS_HEAPTYPE;
  Py_IncRef((PyObject *)type);
  Py_TYPE(o) = type;
  if (heap) Py_DecRef((PyObject *)before);  // only objects of such types own their type
  Py_RETURN_NONE;
}

PyMethodDef px_substitute_methods[] = {
    {"retype", retype, METH_VARARGS, NULL},
    {"substitute", substitute, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
