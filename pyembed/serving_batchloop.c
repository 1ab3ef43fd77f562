// The serve loop of a synchronous function with @batch: simple batches are carried out here, on the main thread. Python
// (`_worker/batch/server.py`) gets the others, and all that was read before them, in order. Both must behave alike:
// testdata/worker_parity.py holds them to that.
//
// Simple is a batch of items without events and without files to keep, with equal keys, whose function returns a list
// or tuple with one element for each item and no exception in it.
//
//   handler.function               the model's function
//   handler.prepare(input)         completes and converts an item's input; None: nothing to do
//   handler.batched, handler.keys  names of parameters: those that take a list; (name, default) of the others
//   handler.scope, .variable       see px_scopes_load
//   handler.encode(value)          replaces what is not JSON
//   handler.inside                 set to whether main is in the function
//   handler.hand_over(frames)      carries out these frames. An item whose input is ready has the kind PX_PREPARED
//   handler.resume(id, frames, scope, result, raised, nanos)
//                                  goes on with the batch of these items, from what the function returned or raised
//   handler.answer_rest(frames, values, nanos, metrics)
//                                  answers items of a batch that is done; the first cannot be encoded here
#include "serving_batchloop.h"

#include <errno.h>

#include "serving_batch.h"
#include "channel_flusher.h"
#include "interpreter_exit.h"
#include "codec_json.h"
#include "interpreter_logs.h"
#include "channel_receive.h"
#include "serving_reply.h"
#include "serving_request.h"
#include "interpreter_scope.h"
#include "channel_send.h"
#include "codec_shared.h"
#include "channel_slots.h"
#include "channel_worker.h"

// An item that waits for its batch.
struct item {
  uint64_t id;
  PyObject *input;
};

// A batch that waits for its turn.
struct batch {
  uint64_t id;
  PyObject *message;  // {"ids": […]}, with "context" where it is traced
};

struct server {
  struct px_channel *ch;
  struct px_scopes scopes;
  PyObject *handler, *function, *prepare, *batched, *keys, *encode;
  PyObject *no_args, *input_key, *files_key, *ids_key, *context_key, *size_key, *inside_name;
  struct item *items;  // in the order in which they came
  struct batch *waiting;
  size_t nitems, items_cap, nwaiting, waiting_cap;
};

static void release(struct server *s) {
  px_scopes_free(&s->scopes);
  PyObject *all[] = {s->function,  s->prepare,   s->batched, s->keys,        s->encode,   s->no_args,
                     s->input_key, s->files_key, s->ids_key, s->context_key, s->size_key, s->inside_name};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) Py_XDECREF(all[i]);
  for (size_t i = 0; i < s->nitems; i++) Py_DecRef(s->items[i].input);
  for (size_t i = 0; i < s->nwaiting; i++) Py_DecRef(s->waiting[i].message);
  px_free(s->items);
  px_free(s->waiting);
}

// encode_in_time is the handler's encode, self. It may run for long, and the answers before this one must not wait for
// it.
static PyObject *encode_in_time(PyObject *self, PyObject *value) {
  px_flusher_arm_for(px_slot_of(0));
  return PyObject_CallOneArg(self, value);
}

static PyMethodDef encode_method = {"encode", encode_in_time, METH_O, NULL};

static int load(struct server *s, PyObject *handler) {
  s->handler = handler;
  if (px_scopes_load(&s->scopes, handler) < 0) return -1;
  struct {
    PyObject **to;
    const char *name;
  } fields[] = {{&s->function, "function"},
                {&s->prepare, "prepare"},
                {&s->batched, "batched"},
                {&s->keys, "keys"},
                {&s->encode, "encode"}},
    names[] = {{&s->input_key, "input"},     {&s->files_key, "files"},     {&s->ids_key, "ids"},
               {&s->context_key, "context"}, {&s->size_key, "batch_size"}, {&s->inside_name, "inside"}};
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

static int no_memory(void) {
  PyErr_NoMemory();
  return -1;
}

// take_item reads an item. 1; 0: it is not simple, and Python reads it again; -1 with an exception.
static int take_item(struct server *s, const struct px_frame *f) {
  if ((f->flags & ~PX_FLAG_FILE) != PX_FLAG_BATCH_ITEM) return 0;  // it has events
  struct item *items = px_grow(s->items, &s->items_cap, s->nitems, sizeof *items);
  if (!items) return no_memory();
  s->items = items;
  PyObject *message = px_request_read(f, px_shared_map(f->file));
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
    PyErr_Clear();  // Python raises it again
    return 0;
  }
  s->items[s->nitems++] = (struct item){f->id, input};
  return 1;
}

// take_batch reads a batch, as take_item.
static int take_batch(struct server *s, const struct px_frame *f) {
  struct batch *waiting = px_grow(s->waiting, &s->waiting_cap, s->nwaiting, sizeof *waiting);
  if (!waiting) return no_memory();
  s->waiting = waiting;
  PyObject *message = px_json_loads(f->body, f->len);
  if (!message) {
    PyErr_Clear();
    return 0;
  }
  s->waiting[s->nwaiting++] = (struct batch){f->id, message};
  return 1;
}

// remove_items removes the first n items and returns their frames: a new list, or NULL with an exception.
static PyObject *remove_items(struct server *s, size_t n) {
  PyObject *frames = PyList_New(0);
  int status = frames ? 0 : -1;
  for (size_t i = 0; i < n; i++) {
    struct item *r = &s->items[i];
    if (status == 0)
      status = px_append(frames, px_frame_tuple(PX_PREPARED, r->id, PX_FLAG_BATCH_ITEM, r->input, NULL));
    else
      Py_DecRef(r->input);
  }
  if (n > 0) memmove(s->items, s->items + n, (s->nitems - n) * sizeof *s->items);
  s->nitems -= n;
  if (status == 0) return frames;
  Py_XDECREF(frames);
  return NULL;
}

// hand_over makes Python run all waiting items, then last, whose reference it takes. 0, or -1 with an exception.
static int hand_over(struct server *s, PyObject *last) {
  PyObject *frames = remove_items(s, s->nitems), *done = NULL;
  int status = frames ? 0 : -1;
  for (size_t i = 0; i < s->nwaiting; i++) {
    struct batch *r = &s->waiting[i];
    if (status == 0)
      status = px_append(frames, px_frame_tuple(PX_BATCH, r->id, 0, r->message, NULL));
    else
      Py_DecRef(r->message);
  }
  s->nwaiting = 0;
  if (last && px_append(status == 0 ? frames : NULL, last) < 0) status = -1;
  if (status == 0) done = PyObject_CallMethod(s->handler, "hand_over", "O", frames);
  Py_XDECREF(frames);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

// take handles a received frame. 0, or -1 with an exception.
static int take(struct server *s, const struct px_frame *f) {
  int simple = 0;
  switch (f->kind) {
    case PX_PREDICT:
      simple = take_item(s, f);
      break;
    case PX_BATCH:
      simple = take_batch(s, f);
      break;
    case PX_DROP:
      break;
    default:
      return 0;  // of a newer front
  }
  if (simple != 0) return simple < 0 ? -1 : 0;
  PyObject *frame = px_frame_read(f);
  return frame ? hand_over(s, frame) : -1;
}

// add_key adds a parameter that all items share. 0, or -1 if they do not.
static int add_key(struct server *s, size_t n, PyObject *arguments, PyObject *key) {
  PyObject *name = PyTuple_GetItem(key, 0), *other = PyTuple_GetItem(key, 1);  // borrowed
  PyObject *first = PyDict_GetItemWithError(s->items[0].input, name);
  if (PyErr_Occurred()) return -1;
  for (size_t i = 1; i < n; i++) {
    PyObject *own = PyDict_GetItemWithError(s->items[i].input, name);
    if (PyErr_Occurred()) return -1;
    if (PyObject_RichCompareBool(own ? own : other, first ? first : other, Py_EQ) != 1) return -1;
  }
  return first ? PyDict_SetItem(arguments, name, first) : 0;
}

// add_list adds a parameter that is a list with one value of each item. 0, or -1 if an item has none.
static int add_list(struct server *s, size_t n, PyObject *arguments, PyObject *name) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  int status = list ? 0 : -1;
  for (size_t i = 0; status == 0 && i < n; i++) {
    PyObject *value = PyDict_GetItemWithError(s->items[i].input, name);
    status = value ? PyList_SetItem(list, (Py_ssize_t)i, Py_NewRef(value)) : -1;
  }
  if (status == 0) status = PyDict_SetItem(arguments, name, list);
  Py_XDECREF(list);
  return status;
}

// arguments_of makes the arguments of a batch: a new reference, or NULL if its items are not the first that wait, or it
// is not simple. It sets no exception.
static PyObject *arguments_of(struct server *s, PyObject *ids) {
  size_t n = PyList_CheckExact(ids) ? (size_t)PyList_Size(ids) : 0;
  if (n == 0 || n > s->nitems) return NULL;
  for (size_t i = 0; i < n; i++)
    if (PyLong_AsUnsignedLongLong(PyList_GetItem(ids, (Py_ssize_t)i)) != s->items[i].id) goto fallback;
  PyObject *arguments = PyDict_New();
  int status = arguments ? 0 : -1;
  Py_ssize_t keys = PyTuple_Size(s->keys), lists = PyTuple_Size(s->batched);
  for (Py_ssize_t i = 0; status == 0 && i < keys; i++) status = add_key(s, n, arguments, PyTuple_GetItem(s->keys, i));
  for (Py_ssize_t i = 0; status == 0 && i < lists; i++)
    status = add_list(s, n, arguments, PyTuple_GetItem(s->batched, i));
  if (status == 0) return arguments;
  Py_XDECREF(arguments);
fallback:
  PyErr_Clear();
  return NULL;
}

// call runs the function. A cancel can interrupt it here.
static PyObject *call(struct server *s, PyObject *arguments) {
  if (PyObject_SetAttr(s->handler, s->inside_name, Py_True) < 0) return NULL;
  PyObject *result = PyObject_Call(s->function, s->no_args, arguments), *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (PyObject_SetAttr(s->handler, s->inside_name, Py_False) < 0) PyErr_Clear();
  PyErr_Restore(type, value, trace);
  return result;
}

// elements is a list of what the function returned for n items: a new reference, or NULL if the result is not simple.
// It sets no exception.
static PyObject *elements(PyObject *result, Py_ssize_t n) {
  if (!PyList_CheckExact(result) && !PyTuple_CheckExact(result)) return NULL;
  PyObject *values = PySequence_List(result);  // a copy: the model may change its list meanwhile
  if (!values) {
    PyErr_Clear();
    return NULL;
  }
  bool simple = PyList_Size(values) == n;
  for (Py_ssize_t i = 0; simple && i < n; i++) simple = !PyExceptionInstance_Check(PyList_GetItem(values, i));
  if (simple) return values;
  Py_DecRef(values);
  return NULL;
}

// answer ends a batch: each item gets its value and the metrics, whose reference it takes. 0, or -1 with an exception.
static int answer(struct server *s, uint64_t id, PyObject *ids, PyObject *values, uint64_t nanos, PyObject *metrics) {
  Py_ssize_t n = PyList_Size(ids), done = 0;
  PyObject *all = PyDict_New(), *size = PyLong_FromSsize_t(n), *frames = NULL, *rest = NULL, *answered = NULL;
  int status = all && size ? PyDict_SetItem(all, s->size_key, size) : -1;
  if (status == 0 && metrics) status = PyDict_Update(all, metrics);
  if (status == 0) status = px_batch_done(s->ch, id, nanos, 1, (int)n, false);
  if (status == 0) done = px_reply_batch(s->ch, ids, values, nanos, all, s->encode);
  // Now, and not with what follows, which may run for long.
  if (done == n)
    px_flush_with_gil(s->ch);
  else
    px_flusher_arm_for(s->ch);
  if ((frames = remove_items(s, (size_t)n)) == NULL) status = -1;
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

// resume makes Python continue a batch with what the function returned or raised. It takes the references scope and
// result. 0, or -1 with an exception.
static int resume(struct server *s, uint64_t id, size_t n, PyObject *scope, PyObject *result, uint64_t nanos) {
  PyObject *raised = result ? NULL : px_raised(), *frames = remove_items(s, n), *done = NULL;
  if (frames)
    done = PyObject_CallMethod(s->handler, "resume", "KOOOOK", (unsigned long long)id, frames, scope,
                               result ? result : Py_None, raised ? raised : Py_None, (unsigned long long)nanos);
  PyObject *own[] = {raised, frames, scope, result, done};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) Py_XDECREF(own[i]);
  return done ? 0 : -1;
}

// run carries out the next batch. 0, or -1 with an exception that ends the worker.
static int run(struct server *s) {
  struct batch r = s->waiting[0];
  PyObject *ids = PyDict_GetItemWithError(r.message, s->ids_key), *entered, *scope = NULL;  // ids: borrowed
  PyObject *arguments = ids ? arguments_of(s, ids) : NULL;
  // The scope is made before the claim: after that, a cancel would interrupt any Python code.
  if (arguments) {
    PyObject *context =
        PyDict_Size(r.message) > 1 ? PyDict_GetItemWithError(r.message, s->context_key) : NULL;  // borrowed
    scope = px_scope_enter(&s->scopes, context, &entered);
  }
  if (!scope || !px_claim(s->ch->page, r.id)) {
    PyErr_Clear();
    if (scope) Py_XDECREF(px_scope_leave(&s->scopes, false, scope, entered));
    Py_XDECREF(arguments);
    return hand_over(s, NULL);
  }
  px_set(&s->ch->current, r.id);
  memmove(s->waiting, s->waiting + 1, --s->nwaiting * sizeof *s->waiting);

  Py_ssize_t n = PyList_Size(ids);
  uint64_t began = px_now();
  PyObject *result = call(s, arguments);
  if (atomic_load(&px_w.is_child)) px_exit_child();
  uint64_t took = px_now() - began;
  Py_DecRef(arguments);
  PyObject *values = result ? elements(result, n) : NULL, *metrics;
  int status;
  if (values) {
    Py_DecRef(result);
    metrics = px_scope_leave(&s->scopes, false, scope, entered);
    status = answer(s, r.id, ids, values, took, metrics);
    Py_DecRef(values);
  } else {
    metrics = px_scope_leave(&s->scopes, false, Py_NewRef(scope), entered);
    Py_XDECREF(metrics);
    status = resume(s, r.id, (size_t)n, scope, result, took);
  }
  Py_DecRef(r.message);
  px_flush_with_gil(s->ch);  // what resume and answer_rest queued
  return status;
}

// read_all takes all frames that are there, and waits for one if no batch waits. 1; 0: the front has closed the slot;
// -1 with an exception.
static int read_all(struct server *s) {
  bool wait = s->nwaiting == 0;
  int n = px_fill(s->ch, wait);
  if (n == 0) return 0;
  if (wait && n > 0 && px_log_idle(s->ch) < 0) return no_memory();
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

// serve_batches(handler): answers the requests of the one slot until the front closes it.
PyObject *px_serve_batches(PX_SELF, PyObject *handler) {
  struct server s = {.ch = px_slot_of(0)};
  if (!s.ch) return NULL;
  int status = load(&s, handler);
  bool open = true;
  while (status == 0 && (open || s.nwaiting > 0)) {
    // Again before each batch that had to wait: items that were dropped meanwhile need not run.
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
