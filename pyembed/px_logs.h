// The log pipes: which bytes of them belong to which prediction.
#ifndef PX_LOGS_H
#define PX_LOGS_H

#include "px_channel.h"
#include "px_python.h"

// ---- px_logs.c --------------------------------------------------------------

// px_logs_init duplicates the log pipes. 0 or -1.
int px_logs_init(void);

// px_logs_load looks up what flushes need of Python. GIL held. 0, or -1 with an exception.
int px_logs_load(void);

// px_flush_stdio flushes sys.stdout, sys.stderr and C's streams. GIL held. A set exception stays set; errors of the model's
// own streams are dropped.
void px_flush_stdio(void);

// px_flush_model is px_flush_stdio while the model runs. A raised exception that is no Exception, such as a cancel, is the
// model's: 0, or -1 with it set.
int px_flush_model(void);

// px_flush_c flushes C's stdout and stderr. Any thread.
void px_flush_c(void);

// px_log_positions returns how many bytes were ever written to the two pipes. Any thread.
void px_log_positions(uint64_t at[2]);

// px_log_look marks what id wrote before what comes next. GIL held. 0, or -1 with an exception.
int px_log_look(struct px_channel *ch, uint64_t id);

// px_log_mark tells the front that what the pipes hold up to here belongs to id. Without new text it sends nothing. 0, or -1
// without memory. px_log_mark_locked is the same with log_mu held.
int px_log_mark(struct px_channel *ch, uint64_t id);
int px_log_mark_locked(struct px_channel *ch, uint64_t id);

// px_log_end is the last px_log_mark of id, before its answer. failed: the text since the mark before ends with the
// traceback.
int px_log_end(struct px_channel *ch, uint64_t id, bool failed);

// px_log_idle marks what was written since the last prediction ended as unattributed: threads and children of an earlier
// prediction may still write. It is called before the next prediction begins, and does nothing with several slots, where
// Python separates the text. GIL held; no exception. 0, or -1 without memory.
int px_log_idle(struct px_channel *ch);

// px_log_watch has the flusher mark what id writes as it comes. px_log_unwatch ends that, before the last mark of id. With
// one slot only.
void px_log_watch(uint64_t id);
void px_log_unwatch(void);

// px_log_live marks what the watched prediction wrote, for the flusher. false: none is watched.
bool px_log_live(void);

// ---- px_pipes.c -------------------------------------------------------------

// px_pipes_before_child is called before this process makes a child. It gives the running prediction its own pipes, if
// there is one slot. true: the code belongs to a prediction that has ended, and the child's stdout and stderr must become
// unattributed[], where those are not -1. Any thread, with or without the GIL; it does nothing in a forked child, nor for a
// new worker. errno is kept.
//
// Only with the GIL can it find out whose the code is. With take_gil a Python thread that has released the GIL waits for
// it: CPython releases it before vfork. Elsewhere the caller may hold a library's lock that the GIL's owner waits for.
bool px_pipes_before_child(int unattributed[2], bool take_gil);

// px_pipes_end goes back to the worker's own pipes, after the last mark. With log_mu held.
void px_pipes_end(struct px_channel *ch);

// px_pipes_know notes which pipes the log pipes are.
void px_pipes_know(void);

// px_pipes_unattributed makes the pipes for unattributed text, if there are none yet. Any thread.
void px_pipes_unattributed(void);

// px_pipes_stream returns of which stream, 0 or 1, a descriptor is a log pipe, or a pipe of the running prediction's own; -1:
// it is neither. Any thread, also in a signal handler; it changes errno.
int px_pipes_stream(int fd);

// px_is_leftover tells whether the code of this thread belongs to a prediction that has ended; false without the GIL. It runs
// no Python code: a signal handler could raise there.
bool px_is_leftover(void);

// The functions that say which prediction code belongs to.
extern PyMethodDef px_pipes_methods[];

// ---- px_threads.c -----------------------------------------------------------

// px_threads_of is the running prediction, if it has started threads; else 0.
extern _Atomic uint64_t px_threads_of;

// px_threads_init finds glibc's functions. A write in a signal handler must not.
void px_threads_init(void);

// px_threads_leave makes the running prediction's threads leftover, and waits for the end of what they are writing.
void px_threads_leave(void);

// px_thread_has_owner reports whether this thread belongs to a prediction, running or not.
bool px_thread_has_owner(void);

// A write of a thread that has an owner.
struct px_write {
  int fd;        // where it goes
  int stream;    // 0 or 1: of which stream it is text; -1: fd was no log pipe
  bool counted;  // the end of its prediction waits for it
};

// px_threads_begin_write begins a write to fd, and px_threads_end_write ends it. Both may run in a signal handler.
void px_threads_begin_write(struct px_write *w, int fd);
void px_threads_end_write(const struct px_write *w);

// px_find_next returns glibc's function of that name, which is defined again here, and keeps it in *found.
void *px_find_next(void *_Atomic *found, const char *name);

// The functions with which Python says whose a thread's work is.
extern PyMethodDef px_thread_methods[];

// ---- px_substitute.c -----------------------------------------------------------

// px_doc_of returns the docstring of a function as its definition has it, which begins with the signature. NULL with an
// exception; the caller frees it. GIL held.
char *px_doc_of(PyObject *like);

extern PyMethodDef px_substitute_methods[];

#endif
