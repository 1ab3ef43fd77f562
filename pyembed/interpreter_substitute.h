// interpreter_substitute.c replaces functions of the standard library that are written in C.
#ifndef INTERPRETER_SUBSTITUTE_H
#define INTERPRETER_SUBSTITUTE_H

#include "base_python.h"

// px_doc_of returns the docstring of a function as its definition in C has it, which begins with the signature. GIL
// held. The caller frees it with free(). NULL with an exception.
char *px_doc_of(PyObject *like);

extern PyMethodDef px_substitute_methods[];

#endif
