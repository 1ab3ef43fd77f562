// The worker as its C files see it: one process, one interpreter, some slots.
//
// Threads: "main" is the process's first thread, Python's main thread, which
// runs everything but what is said otherwise. "control" reads the control
// socket; "flusher" sends answers that main was too busy to send. Neither
// ever touches Python, and both block every signal.
#ifndef PX_WORKER_H
#define PX_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "px_mem.h"
#include "px_page.h"
#include "px_python.h"

// Kinds of frames; ipc/frame.go says what each holds.
enum px_kind {
  PX_PREDICT = 1,
  PX_BATCH = 2,
  PX_DROP = 3,
  PX_SUCCEEDED = 16,
  PX_FAILED = 17,
  PX_CANCELED = 18,
  PX_LOG = 19,
  PX_LOG_MARK = 20,
  PX_STARTED = 21,
  PX_OUTPUT = 22,
  PX_METRIC = 23,
  PX_PREPARED = 24,
  PX_BATCH_DONE = 25,
  PX_LOG_PIPE = 26,
  PX_LOG_PIPES_END = 27,
  PX_CUDA = 36,
  PX_HEALTHY = 37,
  PX_PONG = 38,
  PX_TEMPLATE = 39,
  PX_FORKED = 40,
  PX_SLOT = 48,
  PX_SHUTDOWN = 49,
  PX_HEALTH = 50,
  PX_PING = 51,
  PX_HANDLE = 52,
  PX_FORK = 53,
};

#define PX_HEADER 24
#define PX_FLAG_FILE 1
#define PX_FLAG_EVENTS 2
#define PX_FLAG_TRAIN 4
#define PX_FLAG_HELD 8
#define PX_INLINE_MAX ((size_t)16 << 20)
#define PX_MAX_FDS 64
#define PX_BACKSTOP 100000  // ns after which the flusher sends what main did not
#define PX_LATE 100000      // ns that the flusher may be later than it was asked to be

// A received frame. body is valid until px_frame_done.
struct px_frame {
  uint8_t kind, flags;
  uint64_t id;
  const char *body;
  size_t len;
  void *map;  // not NULL: body is this mapping
  int fd;     // -1, or a descriptor that came with a PX_SLOT or PX_HANDLE frame
};

// One socket to the front.
struct px_channel {
  int fd;
  struct px_slot_page *page;  // NULL for the control socket
  uint64_t current;  // the request that was claimed and is not answered, or 0; GIL held
  uint64_t heard;    // the cancel word that a signal handler has acted on; GIL held

  // Input, of the one thread that reads this channel.
  char *in;
  size_t in_cap, in_r, in_w;
  int fds[PX_MAX_FDS];
  int nfds;
  unsigned taken;   // frames since the last read, a batch with its items as one
  unsigned prompt;  // see px_wait

  // Output, guarded by mu.
  pthread_mutex_t mu;
  struct px_buf out;    // its memory is that of shared, while what is queued fits there
  size_t sent;          // bytes of out that are gone
  struct px_out_page *shared;  // NULL for the control socket
  uint64_t position;    // bytes of the stream that are gone
  uint64_t unsent_since;  // ns, monotonic; of the first answer in out
  bool broken;          // the front does not listen any more

  uint64_t armed_for;     // the unsent_since that the flusher knows of
  uint64_t told_at;       // ns, monotonic: when the last frame of px_channel_tell left
  unsigned bursts;        // how many may leave one by one all the same
  bool told_armed;        // the flusher knows of frames of px_channel_tell in out
};

struct px_worker {
  struct px_channel control;
  struct px_page *page;
  struct px_channel *slots[PX_MAX_SLOTS];
  int nslots;                // guarded by mu
  bool stopping;             // guarded by mu: the front is gone or wants us to leave
  pthread_mutex_t mu;
  pthread_cond_t changed;    // nslots or stopping

  int timer;                 // of the flusher, a timerfd
  pthread_mutex_t timer_mu;  // a leaf; guards the next three
  uint64_t timer_due;        // ns, monotonic: when all that is queued is to be sent; 0: nobody asked
  struct px_channel *timer_for;  // the only channel that asked for that, or NULL
  uint64_t log_due;          // when to look for what log_watch wrote, or 0
  int log_fd[2];             // our own duplicates of the log pipes' write ends
  PyTypeObject *stream_type; // of Python's standard streams, which say when they are written to; NULL: not made yet
  bool wrote;                // GIL: Python's streams were written to since the last look
  uint64_t looked;           // GIL: when a told prediction looked at the log pipes last, ns
  pthread_mutex_t log_mu;    // of log_seen, and of marks: they go out in the order of their positions
  uint64_t log_seen[2];      // positions last told to the front
  _Atomic bool own;          // stdout and stderr are pipes of the prediction's own; the next four: see px_pipes.c. log_mu
  int own_fd[2];             // our own duplicates of those, or -1
  uint64_t own_seen[2];      // as log_seen
  uint64_t own_ended;        // how many such pairs there were
  int nobodys[2];            // pipes that are nobody's, or 0
  _Atomic uint64_t log_watch;  // the prediction whose logs are told as they come, or 0
  _Atomic bool is_child;     // this process was forked from the worker
  bool begetting;            // main: the fork that it is at makes a worker, and no child of the model's
  bool begotten;             // this worker was forked from a template

  const char *config;        // JSON of the front, for Python
  size_t (*cuda_report)(char *, size_t, int);
  PyObject *cancel_type;     // cog.CancelationException
  PyObject *scope;           // of the prediction that px_serve runs, borrowed; NULL: none. Under the GIL
  PyObject *yielded;         // the output of what was yielded and told
  uint64_t health;           // guarded by mu: the health check that was asked for last, or 0
};

extern struct px_worker px_w;

// px_now is the monotonic clock in nanoseconds. Any thread.
uint64_t px_now(void);

// ---- px_wait.c ------------------------------------------------------------

// px_wait waits until there is something to read from fd, for at most so many ns; < 0: for ever. 1; 0: the time is over;
// -1: errno says why. No GIL. To be woken takes longer than many a prediction: with prompt, which the caller keeps for
// nothing else and sets to 0 at first, fd is asked for a while (ipc/PROTOCOL.md, "Spin") before it sleeps, where the front
// allows it and the last waits were short; the process has a page then. NULL: never.
int px_wait(int fd, unsigned *prompt, int64_t most);

// ---- px_channel.c, px_output.c -------------------------------------------

// px_channel_init makes a channel of a connected stream socket, which it owns.
// 0, or -1 without memory. Any thread. What is queued lies in shared, where that
// is not NULL, so that the front gets it though the worker be killed.
int px_channel_init(struct px_channel *ch, int fd, struct px_slot_page *page, struct px_out_page *shared);

// px_channel_fill reads once, waiting for bytes if wait is set. No GIL needed.
// > 0: bytes came; 0: the front is gone or has closed the channel; -1: errno
// says why (EINTR; EAGAIN without wait; ENOMEM; EPROTO for what no front sends).
int px_channel_fill(struct px_channel *ch, bool wait);

// px_channel_next takes the next whole frame out of what was read.
// 1: *f is set, px_frame_done it; 0: none is whole yet; -1: as px_channel_fill.
int px_channel_next(struct px_channel *ch, struct px_frame *f);
void px_frame_done(struct px_frame *f);

// px_channel_put queues one frame; body is copied or sent. 0, or -1 without
// memory or file descriptors. The GIL may be held or not; it is not released,
// and only a body of a megabyte or more can make the call wait for the front.
int px_channel_put(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos,
                   const char *body, size_t len);

// px_channel_put_parts is px_channel_put of a body that lies in parts[1] to parts[n - 1], in this order; parts[0] is room
// for the header. It uses parts up, and has no need of the bytes any more when it returns.
int px_channel_put_parts(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos, struct iovec *parts, int n);

// px_channel_put_fd sends a frame without a body, and a descriptor with it. It waits for the front where the socket is full.
void px_channel_put_fd(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos, int fd);

// px_channel_flush sends what is queued, waiting for the front if wait is set
// (then not with the GIL held). true: nothing is left, or nobody to send it to.
bool px_channel_flush(struct px_channel *ch, bool wait);

// px_flush_held sends what is queued, with the GIL held on entry and exit; it
// is released where sending has to wait.
void px_flush_held(struct px_channel *ch);

// px_channel_tell queues a frame that is to be read at once, and sends it where
// the channel has not done so for PX_JOIN ns, or after a pause also the PX_BURST
// that come first. Else it waits for those that follow, for the rest of PX_TOLD
// ns at most: the flusher sees to it, whatever main does meanwhile. As px_channel_put, but 1 where so much is queued that
// the caller should px_flush_held.
int px_channel_tell(struct px_channel *ch, uint8_t kind, uint64_t id, const char *body, size_t len);

// px_channel_backlog is how many bytes are queued and not sent. Any thread.
size_t px_channel_backlog(struct px_channel *ch);

// px_flusher_start starts the thread that sends all that is queued when its
// timer goes off. 0 or -1. px_flusher_arm has that happen in ns, or PX_LATE after that.
// px_flusher_arm_for does so for what was queued first in this channel,
// PX_BACKSTOP from now; only once, lest those that come after it put it off
// for ever. px_flusher_arm_loop does so for what is queued now in any channel;
// what was queued when it was called before must be gone.
// px_flusher_watch has it look for what log_watch wrote, soon.
int px_flusher_start(void);
void px_flusher_arm(uint64_t ns);
void px_flusher_arm_for(struct px_channel *ch);
void px_flusher_arm_loop(void);
void px_flusher_watch(void);

// ---- px_control.c ---------------------------------------------------------

// px_control_start starts the control thread. 0 or -1.
int px_control_start(void);

// px_cuda_reporter_start starts a thread that tells the front what became of
// CUDA's start, whenever that is, and ends. 0 or -1.
int px_cuda_reporter_start(void);

// px_wait_slots waits until the front passed n slot sockets. No GIL. The number
// there are, less than n where the worker is to leave.
int px_wait_slots(int n);

// px_wait_health waits until the front asks for the model's own check: the question's id, or 0 where the worker
// is to leave. No GIL.
uint64_t px_wait_health(void);

// ---- px_fork.c ------------------------------------------------------------

// px_signals_default gives every signal that Go took its default action back,
// but those that Go's scheduler needs. Before threads of ours run.
void px_signals_default(void);

// px_fork_hook registers what a forked child does first, and what a template does last before it forks. Before Python,
// so that what the model's libraries do before a fork comes earlier: the last to register is the first there. 0 or -1.
int px_fork_hook(bool template);

// px_leave_child ends a forked child that came back to the serve loop. GIL
// held; an exception may be set: SystemExit gives the exit code. Never returns.
void px_leave_child(void);

// ---- px_main.c ------------------------------------------------------------

// px_connect makes the process, whose stdout and stderr are its pipes, one that the front can talk to. 0, or 1
// after a line on stderr.
int px_connect(int control_fd, int page_fd);

// px_start_threads starts our threads with every signal blocked: Python's signals are for its main thread. 0 or -1.
int px_start_threads(void);

// ---- px_template.c --------------------------------------------------------

struct px_config;

// px_template_init makes the process a template: its control channel is its only tie to the front, and no thread
// of ours runs in it. 0 or -1.
int px_template_init(const struct px_config *config);

// px_template_look notes, last before a fork that makes a worker, which threads the fork will not have.
void px_template_look(void);

// The functions of a template: see px_template.c.
extern PyMethodDef px_template_methods[];

// ---- px_logs.c ------------------------------------------------------------

// px_logs_init duplicates the log pipes. 0 or -1.
int px_logs_init(void);

// px_flush_stdio flushes sys.stdout, sys.stderr and C's streams. GIL held. A
// set exception is kept; errors of the model's own streams are dropped.
void px_flush_stdio(void);

// px_flush_model is px_flush_stdio while the model runs: what is raised there and
// is no Exception, as a cancel is not, is the model's. 0, or -1 with it set.
int px_flush_model(void);

// px_log_look tells the front whose the text is that was written before what
// comes next, if any was. GIL held. 0, or -1 with an exception.
int px_log_look(struct px_channel *ch, uint64_t id);

// px_flush_c flushes C's stdout and stderr. Any thread.
void px_flush_c(void);

// px_log_positions says how much was ever written into the two pipes. Any thread.
void px_log_positions(uint64_t at[2]);

// px_log_mark tells the front that what the pipes hold up to here belongs to
// id, if anything does. 0 or -1 without memory.
int px_log_mark(struct px_channel *ch, uint64_t id);

// px_log_mark_locked is px_log_mark with log_mu held.
int px_log_mark_locked(struct px_channel *ch, uint64_t id);

// px_log_end is px_log_mark for the last time, where id's prediction is about to be answered.
// failed: what was written since the mark before, if anything, ends with the traceback of that.
int px_log_end(struct px_channel *ch, uint64_t id, bool failed);

// px_log_idle tells the front that what was written since the last prediction ended is nobody's: threads and children
// of an earlier one go on, and may write of it. Called before the next begins; only where one runs at a time, for
// else the text is told apart in Python. GIL held; no exception. 0 or -1 without memory.
int px_log_idle(struct px_channel *ch);

// px_log_watch makes the flusher tell what id writes as it comes; px_log_unwatch,
// before the last mark of id, ends that. Where one prediction runs at a time.
void px_log_watch(uint64_t id);
void px_log_unwatch(void);

// px_log_live marks what the watched prediction wrote, if there is one: of the flusher. Whether there is.
bool px_log_live(void);

// ---- px_pipes.c -----------------------------------------------------------

// px_pipes_before_child is called before this process makes a child: it gives the prediction that runs pipes of its own,
// where one runs at a time. true: the code belongs to another prediction, and the child's stdout and stderr shall be
// nobodys, where those are not -1. Any thread, with the GIL or without; nothing in a forked child or for a new worker.
// errno is kept. Whose code it is can be told with the GIL alone: with take_gil a thread of Python's that has released it
// waits for it. That is for vfork, before which CPython releases it; a library may hold a lock for which its owner waits.
bool px_pipes_before_child(int nobodys[2], bool take_gil);

// px_fork_to has the next fork of this thread, which it is about to make, give its child these streams.
void px_fork_to(const int nobodys[2]);

// px_pipes_end goes back to the worker's own pipes, after the last mark. With log_mu held.
void px_pipes_end(struct px_channel *ch);

// The functions that say whose code is whose: see px_pipes.c.
extern PyMethodDef px_pipes_methods[];

// ---- px_events.c ----------------------------------------------------------

// px_started tells that the model has id now. GIL held.
int px_started(struct px_channel *ch, uint64_t id);

// px_tell sends value as a frame of that kind, encode standing in for what is no
// JSON. index >= 0: value is the item of that index, which errors then name. GIL
// held, any thread of Python's. 0, or -1 with an exception.
int px_tell(struct px_channel *ch, uint8_t kind, uint64_t id, PyObject *value, PyObject *encode, Py_ssize_t index);

// px_tell_item tells of an item of a batch, whose id is not that of what runs; value NULL: the frame has no body.
// As px_tell.
int px_tell_item(struct px_channel *ch, uint8_t kind, uint64_t id, PyObject *value);

// px_yield_all tells every item of an iterable as it comes. An exception on the
// way, such as a cancel, is first given to the generator, so that its finally
// blocks run. New reference to px_w.yielded, or NULL with an exception. Main thread.
PyObject *px_yield_all(struct px_channel *ch, uint64_t id, PyObject *iterable, PyObject *encode);

// ---- px_reply.c -----------------------------------------------------------

// px_reply queues the answer that ends a prediction. GIL held. value: for
// PX_SUCCEEDED the output or px_w.yielded, for PX_FAILED the error text (str), else NULL.
// encode turns what is no JSON into what is. metrics: a dict of the model's,
// None or NULL. An output that cannot be encoded or sent becomes a failure,
// whose text fail makes; metrics that cannot be are left out of one.
// 0, or -1 with an exception where there is no memory even for that.
int px_reply(struct px_channel *ch, uint8_t kind, uint64_t id, PyObject *value, uint64_t nanos,
             PyObject *metrics, PyObject *encode, PyObject *fail);

// px_build_answer makes the body of an answer in b; px_begin_answer and px_end_answer make its two parts, of which the
// first is the same for all answers with the same metrics. *kind becomes PX_FAILED where the output cannot be encoded.
// px_build_failure makes the one in its place, of the exception that is set: a failure or cancellation stays what it
// is and loses its metrics, which are to blame. px_put_answer queues it. All: GIL held, any thread that owns b; 0,
// or -1 with an exception.
int px_build_answer(struct px_buf *b, uint8_t *kind, PyObject *value, uint64_t nanos, PyObject *metrics,
                    PyObject *encode, PyObject *fail);
int px_begin_answer(struct px_buf *b, uint64_t nanos, PyObject *metrics, PyObject *encode);
int px_end_answer(struct px_buf *b, uint8_t kind, PyObject *value, PyObject *encode);
int px_build_failure(struct px_buf *b, uint8_t *kind, PyObject *value, uint64_t nanos, PyObject *metrics,
                     PyObject *encode, PyObject *fail);
int px_put_answer(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos, const struct px_buf *b);

// px_raised takes the exception that is set, normalised; NULL if none is. GIL held. New reference.
PyObject *px_raised(void);

// px_failure takes the exception that is set and returns what fail(exception)
// makes of it, the error's text, or a text in its place where fail raises. GIL
// held. New reference; NULL with an exception without memory.
PyObject *px_failure(PyObject *fail);

// ---- px_scope.c -----------------------------------------------------------

// How the scopes of predictions are made, and where the running one is kept. All with the GIL held.
struct px_scopes {
  PyObject *make;      // scope(context)
  PyObject *variable;  // the context variable that holds it meanwhile
  PyObject *values_name, *context_name;
  PyObject *spare;  // a scope that nobody used, for the next prediction; NULL: none
};

// px_scopes_load looks up handler.scope and handler.variable. 0, or -1 with an exception; px_scopes_free either way.
int px_scopes_load(struct px_scopes *s, PyObject *handler);
void px_scopes_free(struct px_scopes *s);

// px_scope_enter makes a prediction's scope and sets it, in a copy of the context that setup left: what the model sets
// in variables of contexts does not stay for the next. The scope, a new reference, and in *around the copy.
// context: what the client sent, or NULL. NULL with an exception.
PyObject *px_scope_enter(struct px_scopes *s, PyObject *context, PyObject **around);

// px_scope_leave undoes px_scope_enter, and returns the model's metrics, or NULL where it has recorded none. It takes
// both references: a scope that was not used, nor told of, and that nobody kept, is used again. An exception that is
// set stays set.
PyObject *px_scope_leave(struct px_scopes *s, bool told, PyObject *scope, PyObject *around);

// px_scope is _px.scope(): the scope of the prediction that runs on the main thread, or None. Any thread, with the GIL; a
// new reference.
PyObject *px_scope(PyObject *self, PyObject *unused);

// ---- px_serve.c, px_rides.c, px_tasks.c, px_batch.c, px_request.c, px_module.c ----

// serve(handler): see px_serve.c. serve_rides(handler): see px_rides.c.
PyObject *px_serve(PyObject *self, PyObject *handler);
PyObject *px_serve_rides(PyObject *self, PyObject *handler);

// The functions for an event loop: see px_tasks.c.
extern PyMethodDef px_task_methods[];

// The functions that say how requests are read: see px_request.c.
extern PyMethodDef px_request_methods[];

// The functions for batches: see px_batch.c.
extern PyMethodDef px_batch_methods[];

// px_ride_done queues that the function is over for a ride of size items, which took it so many runs. The answers that
// follow at once leave with that. GIL held. 0, or -1 with an exception.
int px_ride_done(struct px_channel *ch, uint64_t id, uint64_t nanos, int runs, int size, bool failed);

// px_reply_riders queues the answers of items that succeeded, with the same time and metrics: of as many as can be
// made, which it returns; no exception is set. ids and values are lists of the caller's own. GIL held.
Py_ssize_t px_reply_riders(struct px_channel *ch, PyObject *ids, PyObject *values, uint64_t nanos, PyObject *metrics,
                           PyObject *encode);

// px_request_read is the JSON of a received frame: px_json_loads, but that what arrays() named becomes arrays in what asks
// for a prediction. GIL held. New reference, or NULL with an exception.
PyObject *px_request_read(const struct px_frame *f);

// px_frame_tuple is (kind, id, flags, message, error) of a frame, as Python has it. It takes both references, of
// which NULL stands for None. GIL held. New reference, or NULL with an exception.
PyObject *px_frame_tuple(uint8_t kind, uint64_t id, uint8_t flags, PyObject *message, PyObject *error);

// px_frame_read is the tuple of a received frame: error is None, or the exception of a body that cannot be read.
PyObject *px_frame_read(const struct px_frame *f);

// px_fill is px_channel_fill with the GIL held on entry and exit, released while it waits; never EINTR.
int px_fill(struct px_channel *ch, bool wait);

// px_slot_of is the channel of slot i, or NULL with an exception. GIL held.
struct px_channel *px_slot_of(int i);

// px_cancel_heard is the id of what runs on a channel, where the front asked for its end and no signal handler has acted on
// that yet; else 0. A cancel that is torn out of its own clean-up by the front's next signal would help nobody. GIL held.
uint64_t px_cancel_heard(struct px_channel *ch);

// px_module_init makes the module _px.
PyObject *px_module_init(void);

#endif
