// The process: its threads, its signals, its forks.
#ifndef PX_PROCESS_H
#define PX_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "px_python.h"

// PX_VISIBLE marks a function of glibc that is defined here again: Python and all libraries call this one.
#define PX_VISIBLE __attribute__((visibility("default")))

// ---- px_main.c --------------------------------------------------------------

// px_connect ties the process to the front; its stdout and stderr must be its pipes. 0, or 1 after a line on stderr.
int px_connect(int control_fd, int page_fd);

// px_start_threads starts our threads with every signal blocked: Python's signals are for its main thread. 0, or -1 with
// errno.
int px_start_threads(void);

// px_create_thread starts a thread. 0, or -1 with errno.
int px_create_thread(pthread_t *thread, void *(*run)(void *));

// ---- px_control.c -----------------------------------------------------------

// px_control_start starts the control thread. 0 or -1.
int px_control_start(void);

// px_cuda_reporter_start starts a thread that sends the front the report of CUDA's start, and ends. 0 or -1.
int px_cuda_reporter_start(void);

// px_wait_slots waits until the front has passed n slot sockets. No GIL. Their number; less than n if the worker is to leave.
int px_wait_slots(int n);

// px_wait_health waits until the front asks for the model's own check. No GIL. The question's id, or 0 if the worker is to
// leave.
uint64_t px_wait_health(void);

// ---- px_end.c ---------------------------------------------------------------

// px_end_all ends the worker, whose control channel is lost, and every process that it started. Any thread, no GIL.
_Noreturn void px_end_all(void);

// px_await_end returns unless the front is gone: then the control thread ends the worker with its descendants, which an exit
// would leave.
void px_await_end(void);

// ---- px_fork.c --------------------------------------------------------------

// px_signals_default restores the action that the process inherited for the signals that Go took. Before our threads run.
void px_signals_default(void);

// px_inherited_restore gives this thread the inherited signal mask, and the process its limit of open files.
void px_inherited_restore(void);

// px_fork_hook registers what a forked child does first, and what the preload process does last before it forks. It is
// called before Python starts: hooks run in the reverse order of their registration, so the model's run earlier. 0 or -1.
int px_fork_hook(bool preload);

// px_fork_to makes these streams stdout and stderr of the next child that this thread forks.
void px_fork_to(const int streams[2]);

// px_exit_child ends a forked child that came back to the serve loop. GIL held; an exception may be set: SystemExit gives
// the exit code. Never returns.
void px_exit_child(void);

// ---- px_preload.c -----------------------------------------------------------

struct px_config;

// px_preload_init makes the process a preload process. Its control channel is its only tie to the front, and it runs none
// of our threads. 0 or -1.
int px_preload_init(const struct px_config *config);

// px_preload_thread_origin returns an address in the library whose thread is about to be created; NULL unless
// this is the preload process.
const void *px_preload_thread_origin(void *(*function)(void *), void *argument);

// px_preload_note_thread notes the origin of the calling thread, unless it is NULL.
void px_preload_note_thread(const void *origin);

// px_preload_find_threads notes, last before a fork that makes a worker, which threads the fork will lack.
void px_preload_find_threads(void);

// The functions of the preload process.
extern PyMethodDef px_preload_methods[];

#endif
