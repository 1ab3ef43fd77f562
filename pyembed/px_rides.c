// The serve loop of a synchronous function with @batch: rides in which all is as usual happen here, on the main
// thread. Anything else goes to Python (`_worker/batched.py`), with all that was read before it, in order.
//
// Usual is a ride of items that nobody follows, without files to keep, with equal keys, whose function returns a list or
// tuple of their number with no exception in it.
//
//   handler.function               the model's function
//   handler.prepare(input)         completes and converts an item's input; None: nothing to do
//   handler.batched, handler.keys  names of parameters: those that take a list; (name, default) of the others
//   handler.scope, .variable       see px_scopes_load
//   handler.encode(value)          what is no JSON, as what is
//   handler.inside                 set to whether main is in the function
//   handler.hand_over(frames)      carries out what they ask for. Of an item whose input is ready the kind is PX_PREPARED
//   handler.mend(id, frames, scope, result, raised, nanos)
//                                  goes on with a ride whose items the frames are, from what the function returned, or
//                                  raised
//   handler.answer_rest(frames, values, nanos, metrics)
//                                  answers items whose ride is done, the first of which cannot be answered as usual
#include "px_worker.h"

#include <errno.h>

#include "px_json.h"

// An item that waits for its ride.
struct rider {
  uint64_t id;
  PyObject *input;
};

// A ride that waits for its turn.
struct ride {
  uint64_t id;
  PyObject *message;  // {"ids": […]}
};

struct rides {
  struct px_channel *ch;
  struct px_scopes scopes;
  PyObject *handler, *function, *prepare, *batched, *keys, *encode;
  PyObject *no_args, *input_key, *files_key, *ids_key, *size_key, *inside_name;
  struct rider *riders;  // in the order in which they came
  struct ride *waiting;
  size_t nriders, riders_cap, nwaiting, waiting_cap;
};

static void release(struct rides *s) {
  px_scopes_free(&s->scopes);
  PyObject *all[] = {s->function, s->prepare,   s->batched, s->keys,     s->encode,     s->no_args,
                     s->input_key, s->files_key, s->ids_key, s->size_key, s->inside_name};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) Py_XDECREF(all[i]);
  for (size_t i = 0; i < s->nriders; i++) Py_DecRef(s->riders[i].input);
  for (size_t i = 0; i < s->nwaiting; i++) Py_DecRef(s->waiting[i].message);
  px_free(s->riders);
  px_free(s->waiting);
}

// encode_in_time is the handler's encode, self. Nobody knows for how long that runs: the answers before this one need not
// wait for it.
static PyObject *encode_in_time(PyObject *self, PyObject *value) {
  px_flusher_arm_for(px_slot_of(0));
  return PyObject_CallOneArg(self, value);
}

static PyMethodDef encode_method = {"encode", encode_in_time, METH_O, NULL};

static int load(struct rides *s, PyObject *handler) {
  s->handler = handler;
  if (px_scopes_load(&s->scopes, handler) < 0) return -1;
  struct {
    PyObject **to;
    const char *name;
  } fields[] = {{&s->function, "function"}, {&s->prepare, "prepare"}, {&s->batched, "batched"},
                {&s->keys, "keys"},         {&s->encode, "encode"}},
    names[] = {{&s->input_key, "input"}, {&s->files_key, "files"}, {&s->ids_key, "ids"},
               {&s->size_key, "batch_size"}, {&s->inside_name, "inside"}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (!(*fields[i].to = PyObject_GetAttrString(handler, fields[i].name))) return -1;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!(*names[i].to = PyUnicode_InternFromString(names[i].name))) return -1;
  PyObject *encode = s->encode;
  s->encode = PyCFunction_NewEx(&encode_method, encode, NULL);
  Py_DecRef(encode);
  s->no_args = PyTuple_New(0);
  return s->encode && s->no_args ? 0 : -1;
}

// grow makes room for one more in an array. 0, or -1 with an exception.
static int grow(void **array, size_t *cap, size_t n, size_t size) {
  if (n < *cap) return 0;
  size_t more = *cap ? 2 * *cap : 32;
  void *p = px_realloc(*array, more * size);
  if (!p) {
    PyErr_NoMemory();
    return -1;
  }
  *array = p;
  *cap = more;
  return 0;
}

// take_item reads an item: 1; 0 where it is not usual, for Python to read anew; or -1 with an exception.
static int take_item(struct rides *s, const struct px_frame *f) {
  if ((f->flags & ~PX_FLAG_FILE) != PX_FLAG_HELD) return 0;  // told of
  if (grow((void **)&s->riders, &s->riders_cap, s->nriders, sizeof *s->riders) < 0) return -1;
  PyObject *message = px_request_read(f);
  PyObject *input = message ? PyDict_GetItemWithError(message, s->input_key) : NULL;  // borrowed
  if (input && PyDict_Contains(message, s->files_key) == 0) {
    Py_IncRef(input);
    if (s->prepare != Py_None) {
      PyObject *prepared = PyObject_CallFunctionObjArgs(s->prepare, input, NULL);
      Py_DecRef(input);
      input = prepared;
    }
  } else {
    input = NULL;
  }
  Py_XDECREF(message);
  if (!input) {
    PyErr_Clear();  // Python meets it again
    return 0;
  }
  s->riders[s->nriders++] = (struct rider){f->id, input};
  return 1;
}

// take_ride reads a ride. As take_item.
static int take_ride(struct rides *s, const struct px_frame *f) {
  if (grow((void **)&s->waiting, &s->waiting_cap, s->nwaiting, sizeof *s->waiting) < 0) return -1;
  PyObject *message = px_json_loads(f->body, f->len);
  if (!message) {
    PyErr_Clear();
    return 0;
  }
  s->waiting[s->nwaiting++] = (struct ride){f->id, message};
  return 1;
}

// append adds a frame's tuple to a list, and takes it. 0, or -1 with an exception, as where there is no list or frame.
static int append(PyObject *list, PyObject *frame) {
  int status = list && frame ? PyList_Append(list, frame) : -1;
  Py_XDECREF(frame);
  return status;
}

// alight is a list of the frames of the first n items, which are forgotten. New reference, or NULL with an exception.
static PyObject *alight(struct rides *s, size_t n) {
  PyObject *frames = PyList_New(0);
  int status = frames ? 0 : -1;
  for (size_t i = 0; i < n; i++) {
    struct rider *r = &s->riders[i];
    if (status == 0)
      status = append(frames, px_frame_tuple(PX_PREPARED, r->id, PX_FLAG_HELD, r->input, NULL));
    else
      Py_DecRef(r->input);
  }
  memmove(s->riders, s->riders + n, (s->nriders - n) * sizeof *s->riders);
  s->nriders -= n;
  if (status == 0) return frames;
  Py_XDECREF(frames);
  return NULL;
}

// hand_over has Python carry out all that waits, and then last, which it takes. 0, or -1 with an exception.
static int hand_over(struct rides *s, PyObject *last) {
  PyObject *frames = alight(s, s->nriders), *done = NULL;
  int status = frames ? 0 : -1;
  for (size_t i = 0; i < s->nwaiting; i++) {
    struct ride *r = &s->waiting[i];
    if (status == 0)
      status = append(frames, px_frame_tuple(PX_BATCH, r->id, 0, r->message, NULL));
    else
      Py_DecRef(r->message);
  }
  s->nwaiting = 0;
  if (last) {
    if (status == 0)
      status = append(frames, last);
    else
      Py_DecRef(last);
  }
  if (status == 0) done = PyObject_CallMethod(s->handler, "hand_over", "O", frames);
  Py_XDECREF(frames);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

// take sorts a received frame. 0, or -1 with an exception.
static int take(struct rides *s, const struct px_frame *f) {
  int usual = 0;
  switch (f->kind) {
    case PX_PREDICT: usual = take_item(s, f); break;
    case PX_BATCH: usual = take_ride(s, f); break;
    case PX_DROP: break;
    default: return 0;  // of a newer front
  }
  if (usual != 0) return usual < 0 ? -1 : 0;
  PyObject *frame = px_frame_read(f);
  return frame ? hand_over(s, frame) : -1;
}

// add_key gives the function a parameter that all items share: 0, or -1 where they do not.
static int add_key(struct rides *s, size_t n, PyObject *arguments, PyObject *key) {
  PyObject *name = PyTuple_GetItem(key, 0), *other = PyTuple_GetItem(key, 1);  // borrowed
  PyObject *first = PyDict_GetItemWithError(s->riders[0].input, name);
  if (PyErr_Occurred()) return -1;
  for (size_t i = 1; i < n; i++) {
    PyObject *own = PyDict_GetItemWithError(s->riders[i].input, name);
    if (PyErr_Occurred()) return -1;
    if (PyObject_RichCompareBool(own ? own : other, first ? first : other, Py_EQ) != 1) return -1;
  }
  return first ? PyDict_SetItem(arguments, name, first) : 0;
}

// add_list gives the function a parameter of which each item brings one: 0, or -1 where one does not.
static int add_list(struct rides *s, size_t n, PyObject *arguments, PyObject *name) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  int status = list ? 0 : -1;
  for (size_t i = 0; status == 0 && i < n; i++) {
    PyObject *value = PyDict_GetItemWithError(s->riders[i].input, name);
    status = value ? PyList_SetItem(list, (Py_ssize_t)i, Py_NewRef(value)) : -1;
  }
  if (status == 0) status = PyDict_SetItem(arguments, name, list);
  Py_XDECREF(list);
  return status;
}

// board makes the arguments of a ride whose items are the first that wait: a new reference, or NULL where they are
// not, or anything else is unusual. No exception is set.
static PyObject *board(struct rides *s, PyObject *ids) {
  size_t n = PyList_CheckExact(ids) ? (size_t)PyList_Size(ids) : 0;
  if (n == 0 || n > s->nriders) return NULL;
  for (size_t i = 0; i < n; i++)
    if (PyLong_AsUnsignedLongLong(PyList_GetItem(ids, (Py_ssize_t)i)) != s->riders[i].id) goto unusual;
  PyObject *arguments = PyDict_New();
  int status = arguments ? 0 : -1;
  Py_ssize_t keys = PyTuple_Size(s->keys), lists = PyTuple_Size(s->batched);
  for (Py_ssize_t i = 0; status == 0 && i < keys; i++) status = add_key(s, n, arguments, PyTuple_GetItem(s->keys, i));
  for (Py_ssize_t i = 0; status == 0 && i < lists; i++)
    status = add_list(s, n, arguments, PyTuple_GetItem(s->batched, i));
  if (status == 0) return arguments;
  Py_XDECREF(arguments);
unusual:
  PyErr_Clear();
  return NULL;
}

// call runs the function, in which a cancel interrupts it.
static PyObject *call(struct rides *s, PyObject *arguments) {
  if (PyObject_SetAttr(s->handler, s->inside_name, Py_True) < 0) return NULL;
  PyObject *result = PyObject_Call(s->function, s->no_args, arguments), *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (PyObject_SetAttr(s->handler, s->inside_name, Py_False) < 0) PyErr_Clear();
  PyErr_Restore(type, value, trace);
  return result;
}

// elements is a list of what the function returned for n items: a new reference, or NULL where it is not so simple. No
// exception is set.
static PyObject *elements(PyObject *result, Py_ssize_t n) {
  if (!PyList_CheckExact(result) && !PyTuple_CheckExact(result)) return NULL;
  PyObject *values = PySequence_List(result);  // a copy: the model may change its own meanwhile
  if (!values) {
    PyErr_Clear();
    return NULL;
  }
  bool usual = PyList_Size(values) == n;
  for (Py_ssize_t i = 0; usual && i < n; i++) usual = !PyExceptionInstance_Check(PyList_GetItem(values, i));
  if (usual) return values;
  Py_DecRef(values);
  return NULL;
}

// answer ends a ride: each item gets its value, and metrics, which it takes. 0, or -1 with an exception.
static int answer(struct rides *s, uint64_t id, PyObject *ids, PyObject *values, uint64_t nanos, PyObject *metrics) {
  Py_ssize_t n = PyList_Size(ids), done = 0;
  PyObject *all = PyDict_New(), *size = PyLong_FromSsize_t(n), *frames = NULL, *rest = NULL, *answered = NULL;
  int status = all && size ? PyDict_SetItem(all, s->size_key, size) : -1;
  if (status == 0 && metrics) status = PyDict_Update(all, metrics);
  if (status == 0) status = px_ride_done(s->ch, id, nanos, 1, (int)n, false);
  if (status == 0) done = px_reply_riders(s->ch, ids, values, nanos, all, s->encode);
  // Not with what follows: nobody knows for how long that runs.
  if (done == n) px_flush_held(s->ch);
  else px_flusher_arm_for(s->ch);
  if ((frames = alight(s, (size_t)n)) == NULL) status = -1;
  if (status == 0 && done < n) {
    status = PyList_SetSlice(frames, 0, done, NULL);
    if (status == 0) rest = PyList_GetSlice(values, done, n);
    if (rest)
      answered = PyObject_CallMethod(s->handler, "answer_rest", "OOKO", frames, rest, (unsigned long long)nanos, all);
    status = answered ? 0 : -1;
  }
  PyObject *own[] = {all, size, metrics, frames, rest, answered};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) Py_XDECREF(own[i]);
  return status;
}

// mend has Python go on with a ride from what the function returned, or raised. It takes scope and result. 0, or -1
// with an exception.
static int mend(struct rides *s, uint64_t id, size_t n, PyObject *scope, PyObject *result, uint64_t nanos) {
  PyObject *raised = result ? NULL : px_raised(), *frames = alight(s, n), *done = NULL;
  if (frames)
    done = PyObject_CallMethod(s->handler, "mend", "KOOOOK", (unsigned long long)id, frames, scope,
                               result ? result : Py_None, raised ? raised : Py_None, (unsigned long long)nanos);
  PyObject *own[] = {raised, frames, scope, result, done};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) Py_XDECREF(own[i]);
  return done ? 0 : -1;
}

// run carries out the ride whose turn it is. 0, or -1 with an exception that ends the worker.
static int run(struct rides *s) {
  struct ride r = s->waiting[0];
  PyObject *ids = PyDict_GetItemWithError(r.message, s->ids_key), *around, *scope = NULL;  // ids: borrowed
  PyObject *arguments = ids ? board(s, ids) : NULL;
  // The scope is made before the claim, after which nothing of Python's may run that a cancel is not to interrupt.
  if (arguments) scope = px_scope_enter(&s->scopes, NULL, &around);
  if (!scope || !px_claim(s->ch->page, r.id)) {
    PyErr_Clear();
    if (scope) Py_XDECREF(px_scope_leave(&s->scopes, false, scope, around));
    Py_XDECREF(arguments);
    return hand_over(s, NULL);
  }
  s->ch->current = r.id;
  memmove(s->waiting, s->waiting + 1, --s->nwaiting * sizeof *s->waiting);

  Py_ssize_t n = PyList_Size(ids);
  uint64_t began = px_now();
  PyObject *result = call(s, arguments);
  if (atomic_load(&px_w.is_child)) px_leave_child();
  uint64_t took = px_now() - began;
  Py_DecRef(arguments);
  PyObject *values = result ? elements(result, n) : NULL, *metrics;
  int status;
  if (values) {
    Py_DecRef(result);
    metrics = px_scope_leave(&s->scopes, false, scope, around);
    status = answer(s, r.id, ids, values, took, metrics);
    Py_DecRef(values);
  } else {
    metrics = px_scope_leave(&s->scopes, false, Py_NewRef(scope), around);
    Py_XDECREF(metrics);
    status = mend(s, r.id, (size_t)n, scope, result, took);
  }
  Py_DecRef(r.message);
  px_flush_held(s->ch);  // what mend and answer_rest left
  return status;
}

// read_all sorts all that is there, waiting for something where no ride waits. 1; 0: the front has closed the slot; or -1
// with an exception.
static int read_all(struct rides *s) {
  bool wait = s->nwaiting == 0;
  int n = px_fill(s->ch, wait);
  if (n == 0) return 0;
  if (wait && n > 0 && px_log_idle(s->ch) < 0) {
    PyErr_NoMemory();
    return -1;
  }
  struct px_frame f;
  while (n > 0 && (n = px_channel_next(s->ch, &f)) > 0) {
    int status = take(s, &f);
    px_frame_done(&f);
    if (status < 0) return -1;
  }
  if (n == 0 || (!wait && errno == EAGAIN)) return 1;
  PyErr_Format(PyExc_OSError, "read from the front: %s", strerror(errno));
  return -1;
}

// serve_rides(handler): answers the requests of the one slot until the front closes it.
PyObject *px_serve_rides(PyObject *self, PyObject *handler) {
  (void)self;
  struct rides s = {.ch = px_slot_of(0)};
  if (!s.ch) return NULL;
  int status = load(&s, handler);
  bool open = true;
  while (status == 0 && (open || s.nwaiting > 0)) {
    // Once more before each ride that had to wait: what was dropped meanwhile need not run.
    if (open) {
      int n = read_all(&s);
      open = n > 0;
      if (n < 0) status = -1;
    }
    if (status == 0 && s.nwaiting > 0) status = run(&s);
  }
  release(&s);
  if (status < 0) return NULL;
  Py_RETURN_NONE;
}
