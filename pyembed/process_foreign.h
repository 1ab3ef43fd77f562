// process_foreign.c knows the threads that a fork of the preload process would lack.
#ifndef PROCESS_FOREIGN_H
#define PROCESS_FOREIGN_H

#define PX_THREAD_NAME 16  // bytes of a thread's name, as the kernel keeps it
#define PX_LIBRARY 128  // bytes of the end of a library's path

struct px_foreign {
  int tid;
  char name[PX_THREAD_NAME], library[PX_LIBRARY];  // library "": unknown
};

// px_foreign_init makes this process one that looks for such threads: all but main and Go's, whose name main has until
// now. px_foreign_forget undoes it, in a fork.
void px_foreign_init(void);
void px_foreign_forget(void);

// px_foreign_origin returns an address in the library whose thread is about to be created, or NULL if this process does
// not look for such threads. Any thread.
const void *px_foreign_origin(void *(*function)(void *), void *argument);

// px_foreign_note remembers the origin of the calling thread, unless it is NULL. Any thread.
void px_foreign_note(const void *origin);

// px_foreign_excuse leaves out a thread, which its library starts again in a fork. Main thread.
void px_foreign_excuse(int tid);

// px_foreign_find lists the threads that a fork will lack. It is called just before a fork that makes a worker.
void px_foreign_find(void);

// px_foreign_found returns how many px_foreign_find has found, and sets *list to them. The forking process and its child.
int px_foreign_found(const struct px_foreign **list);

#endif
