// interpreter_postpone.c puts a cancel off to the next instruction.
#ifndef INTERPRETER_POSTPONE_H
#define INTERPRETER_POSTPONE_H

#include <stdbool.h>

#include "base_python.h"

// px_postpone has _px.ask_again called at the next instruction of a frame's code, in any thread that runs it, if an
// exception that is raised in the frame now could miss its try block: serve/postponed.py. anywhere: in any case. It
// returns false if it does not. px_postpone_end ends that for all frames. Main thread, GIL held; they drop an exception
// that is set.
bool px_postpone(PyObject *frame, bool anywhere);
void px_postpone_end(void);

#endif
