// interpreter_jump.c lets the exception of a cancel be caught at the end of a turn of a loop.
#ifndef INTERPRETER_JUMP_H
#define INTERPRETER_JUMP_H

#include "base_python.h"

// px_catch_at_jump lets a frame catch what is about to be raised in it, though its compiler left the instruction out of
// the try block: serve/jumps.py. NULL and None do nothing. GIL held, on the thread that runs the frame.
void px_catch_at_jump(PyObject *frame);

extern PyMethodDef px_jump_methods[];

#endif
