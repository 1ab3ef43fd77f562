// Exceptions at the end of a turn of a loop: serve/jumps.py says which may miss their try block.
//
// The exception cannot be raised later instead: a loop that only computes looks for one at no other instruction. Nor
// can the code be replaced, as it runs. So the table of its try blocks is, which Python reads after the exception
// exists.
#include "interpreter_jump.h"

#include <stdatomic.h>

#include "interpreter_swallowed.h"

void px_catch_at_jump(PyObject *frame) {
  if (!frame || frame == Py_None) return;
  PyObject *module = PyImport_ImportModule("cog._worker.serve.jumps");
  PyObject *done = module ? PyObject_CallMethod(module, "catch_at_jump", "O", frame) : NULL;
  PyErr_Clear();
  Py_XDECREF(done);
  Py_XDECREF(module);
}

// member_that_is finds the one member of an object that refers to another; NULL: there is none, or more than one. It
// needs no layout of the object, but that members are pointers.
static PyObject *_Atomic *member_that_is(PyObject *o, PyObject *value) {
  PyObject *number = px_attribute((PyObject *)Py_TYPE(o), "__basicsize__");
  long size = number ? PyLong_AsLong(number) : 0;
  PyErr_Clear();
  Py_XDECREF(number);
  PyObject *_Atomic *found = NULL;
  for (size_t at = px_py->head_size; (long)(at + sizeof value) <= size; at += sizeof value) {
    PyObject *_Atomic *member = (PyObject * _Atomic *)((char *)o + at);
    if (atomic_load_explicit(member, memory_order_relaxed) != value) continue;
    if (found) return NULL;
    found = member;
  }
  return found;
}

// kept_hash is where bytes keep their hash: before their characters, one of which counts as part of the head.
static Py_ssize_t *kept_hash(PyObject *bytes) {
  PyObject *number = px_attribute((PyObject *)Py_TYPE(bytes), "__basicsize__");
  long head = number ? PyLong_AsLong(number) - 1 : 0;
  PyErr_Clear();
  Py_XDECREF(number);
  return head > 0 ? (Py_ssize_t *)((char *)bytes + head) - 1 : NULL;
}

// set_exception_table(code, table, hash): replaces the table of the try blocks, whose hash is given. The one before
// stays in memory, since another thread may read it. The new one takes its hash, because that of the code, which may be
// a key, covers it.
static PyObject *set_exception_table(PX_SELF, PyObject *args) {
  PyObject *code, *table;
  Py_ssize_t hash;
  if (!PyArg_ParseTuple(args, "OOn", &code, &table, &hash)) return NULL;
  PyObject *before = px_attribute(code, "co_exceptiontable"), *expected = before;
  PyObject *_Atomic *member = before ? member_that_is(code, before) : NULL;
  Py_ssize_t *was = before ? kept_hash(before) : NULL;
  if (was && *was == hash) *kept_hash(table) = hash;
  if (member && atomic_compare_exchange_strong(member, &expected, table)) Py_IncRef(table);
  Py_XDECREF(before);
  Py_RETURN_NONE;
}

PyMethodDef px_jump_methods[] = {
    {"set_exception_table", set_exception_table, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
