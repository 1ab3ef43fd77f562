// process_next.c finds the functions of glibc that are defined again here.
#ifndef PROCESS_NEXT_H
#define PROCESS_NEXT_H

// px_find_next returns glibc's function of a name that is defined again here, and keeps it in *found. Any thread; only
// the first call may not be in a signal handler.
void *px_find_next(void *_Atomic *found, const char *name);

#endif
