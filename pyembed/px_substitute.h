// px_substitute.c makes functions in C that stand in for functions in Python.
#ifndef PX_SUBSTITUTE_H
#define PX_SUBSTITUTE_H

#include "px_python.h"

// px_doc_of returns the docstring of a function as its definition has it, which begins with the signature. NULL with an
// exception; the caller frees it. GIL held.
char *px_doc_of(PyObject *like);

extern PyMethodDef px_substitute_methods[];

#endif
