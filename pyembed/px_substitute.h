// px_substitute.c replaces functions of the standard library that are written in C.
#ifndef PX_SUBSTITUTE_H
#define PX_SUBSTITUTE_H

#include "px_python.h"

// px_doc_of returns the docstring of a function as its definition in C has it, which begins with the signature. GIL
// held. The caller frees it with free(). NULL with an exception.
char *px_doc_of(PyObject *like);

extern PyMethodDef px_substitute_methods[];

#endif
