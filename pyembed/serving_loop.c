// The serve loop of a synchronous predict function: on the main thread, or, for several predictions at once, on a
// thread for each slot.
//
//   handler.functions            the predict function, the train function and the named ones; None: there is none. Of each:
//     predict(**input)           the model's function
//     prepare(input)             completes and converts the input; None: nothing to do
//     collect(result, encode)    makes a list of what an iterator yields; None: it returns no iterator
//     convert(result, encode)    converts what was returned to the type of the annotation; None: nothing to do. Not
//                                called with a list, which needs it for no annotation
//   handler.names                the names of the functions from the third on
//   handler.generator            the type of generators: where one is returned and nothing says so,
//   handler.collect(result, encode) makes a list of it
//   handler.scope(context)       makes a prediction's scope
//   handler.variable             the context variable that holds it meanwhile
//   handler.encode(value)        what is not JSON, as what is
//   handler.keep(files)          such an encoder that keeps files for the front to upload
//   handler.hook(id)             what a scope calls with each metric, if events are wanted
//   handler.fail(exception)      writes the traceback to the log; returns the error's text
//   handler.begin(id)            is called before a prediction, where others run at the same time; None: they do not
//   handler.flush_text(ended)    sends what a prediction has printed, before its next item or its answer; None likewise
#include "serving_loop.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "serving_batch.h"
#include "serving_control.h"
#include "serving_events.h"
#include "serving_items.h"
#include "channel_flusher.h"
#include "interpreter_exit.h"
#include "interpreter_interrupt.h"
#include "codec_json.h"
#include "interpreter_logs.h"
#include "channel_receive.h"
#include "serving_reply.h"
#include "serving_request.h"
#include "interpreter_scope.h"
#include "channel_send.h"
#include "codec_shared.h"
#include "channel_slots.h"
#include "codec_views.h"
#include "channel_worker.h"

// The answer of a prediction that takes less than PX_FAST ns waits for those that follow at once, to share a write. It
// never waits longer than PX_HOLD ns: main sends it between two predictions, or the flusher if one is slower than
// expected.
#define PX_FAST 30000
#define PX_HOLD 30000

struct function {
  PyObject *predict, *prepare, *collect, *convert;  // predict NULL: there is none
};

struct handler {
  struct function *functions;  // predict, train, and those that names has
  Py_ssize_t count;  // of them
  PyObject *names;
  struct px_scopes scopes;
  PyObject *encode, *fail, *keep, *hook, *generator, *collect;
  PyObject *begin;  // NULL: predictions run one at a time
  PyObject *no_args, *input_key, *context_key, *files_key, *function_key;
  uint64_t mean;  // moving average of a prediction's time, ns
};

static PyObject *optional(PyObject *o) {
  if (o != Py_None) return o;
  Py_DecRef(o);
  return NULL;
}

static void handler_free(struct handler *h) {
  PyObject *all[] = {h->encode,  h->fail,      h->keep,        h->hook,      h->generator, h->collect,     h->begin,
                     h->no_args, h->input_key, h->context_key, h->files_key, h->names,     h->function_key};
  px_scopes_free(&h->scopes);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]) Py_DecRef(all[i]);
  for (Py_ssize_t i = 0; i < h->count; i++) {
    struct function *f = &h->functions[i];
    if (f->predict) Py_DecRef(f->predict);
    if (f->prepare) Py_DecRef(f->prepare);
    if (f->collect) Py_DecRef(f->collect);
    if (f->convert) Py_DecRef(f->convert);
  }
  px_free(h->functions);
}

struct field {
  PyObject **to;
  const char *name;
};

static int load_fields(PyObject *o, const struct field *fields, size_t n) {
  for (size_t i = 0; i < n; i++) {
    *fields[i].to = PyObject_GetAttrString(o, fields[i].name);
    if (!*fields[i].to) return -1;
  }
  return 0;
}

static int load_function(struct function *f, PyObject *o) {
  if (o == Py_None) return 0;
  struct field fields[] = {
      {&f->predict, "predict"}, {&f->prepare, "prepare"}, {&f->collect, "collect"}, {&f->convert, "convert"}};
  if (load_fields(o, fields, sizeof fields / sizeof *fields) < 0) return -1;
  f->prepare = optional(f->prepare);
  f->collect = optional(f->collect);
  f->convert = optional(f->convert);
  return 0;
}

static int handler_load(struct handler *h, struct px_channel *ch, PyObject *o) {
  memset(h, 0, sizeof *h);
  struct field fields[] = {{&h->encode, "encode"}, {&h->fail, "fail"},           {&h->keep, "keep"},
                           {&h->hook, "hook"},     {&h->generator, "generator"}, {&h->collect, "collect"},
                           {&h->begin, "begin"},   {&h->names, "names"},         {&ch->flush_text, "flush_text"}};
  if (px_scopes_load(&h->scopes, o) < 0 || load_fields(o, fields, sizeof fields / sizeof *fields) < 0) return -1;
  h->begin = optional(h->begin);
  ch->flush_text = optional(ch->flush_text);
  if (h->begin) h->scopes.running = &h->scopes.own;
  PyObject *functions = PyObject_GetAttrString(o, "functions");
  if (!functions) return -1;
  Py_ssize_t count = PyTuple_Size(functions);
  h->functions = count < 2 ? NULL : px_malloc((size_t)count * sizeof *h->functions);
  int status = h->functions ? 0 : -1;
  if (status < 0) PyErr_NoMemory();
  if (h->functions) memset(h->functions, 0, (size_t)count * sizeof *h->functions);
  for (; h->count < count && status == 0; h->count++) {
    PyObject *f = PyTuple_GetItem(functions, h->count);  // borrowed
    status = f ? load_function(&h->functions[h->count], f) : -1;
  }
  Py_DecRef(functions);
  if (status < 0) return -1;
  h->no_args = PyTuple_New(0);
  h->input_key = PyUnicode_InternFromString("input");
  h->context_key = PyUnicode_InternFromString("context");
  h->files_key = PyUnicode_InternFromString("files");
  h->function_key = PyUnicode_InternFromString("function");
  return h->no_args && h->input_key && h->context_key && h->files_key && h->function_key ? 0 : -1;
}

// A call is one prediction that is being served.
struct call {
  struct px_channel *ch;
  uint64_t id;
  const struct function *function;
  bool observed, traced;  // events are wanted; times are wanted
  uint64_t prepared;  // when its input was prepared, by px_now
  PyObject *encode;  // borrowed or own, see own_encode
  bool own_encode;
};

// convert converts what a function returned to the type of its annotation. It takes the reference.
static PyObject *convert(struct handler *h, struct call *c, PyObject *returned) {
  const struct function *f = c->function;
  PyObject *by = NULL;
  if (f->convert)
    by = PyList_CheckExact(returned) ? NULL : f->convert;
  else if (!f->collect && (PyObject *)Py_TYPE(returned) == h->generator)
    by = h->collect;
  if (!by) return returned;
  PyObject *result = PyObject_CallFunctionObjArgs(by, returned, c->encode, NULL);
  Py_DecRef(returned);
  return result;
}

// call_model runs one prediction: the output, or NULL with the exception set.
static PyObject *call_model(struct handler *h, struct call *c, PyObject *input) {
  const struct function *f = c->function;
  PyObject *prepared = NULL, *result = NULL, *output = NULL;
  if (!f || !f->predict) {
    PyErr_SetString(PyExc_RuntimeError, "this model has no such function");
    return NULL;
  }
  if (f->prepare) {
    prepared = PyObject_CallFunctionObjArgs(f->prepare, input, NULL);
    if (!prepared) return NULL;
    input = prepared;
  }
  if (c->traced) c->prepared = px_now();
  result = PyObject_Call(f->predict, h->no_args, input);
  if (result) result = convert(h, c, result);
  if (result && f->collect) {
    output = c->observed ? px_yield_all(c->ch, c->id, result, c->encode)
                         : PyObject_CallFunctionObjArgs(f->collect, result, c->encode, NULL);
    Py_DecRef(result);
  } else {
    output = result;
  }
  if (prepared) Py_DecRef(prepared);
  return output;
}

// call_interruptible is call_model on a thread: main may interrupt it meanwhile.
static PyObject *call_interruptible(struct handler *h, struct call *c, PyObject *input) {
  PyObject *output = px_interrupt_allow(c->ch, c->id) < 0 ? NULL : call_model(h, c, input);
  if (px_interrupt_forbid(c->ch)) {  // what it returned or raised may come from a wait that ended early
    Py_CLEAR(output);
    PyErr_Clear();
    px_interrupt_raise();
  }
  return output;
}

// named returns the function that a message names, or NULL.
static const struct function *named(struct handler *h, PyObject *message) {
  PyObject *name = PyDict_GetItemWithError(message, h->function_key);  // borrowed
  for (Py_ssize_t i = 2; name && i < h->count; i++)
    if (PyObject_RichCompareBool(PyTuple_GetItem(h->names, i - 2), name, Py_EQ) == 1) return &h->functions[i];
  return NULL;
}

// use_files keeps output files for the front. 0, or -1 with an exception.
static int use_files(struct handler *h, struct call *c, PyObject *files) {
  c->encode = PyObject_CallFunctionObjArgs(h->keep, files, NULL);
  c->own_encode = c->encode != NULL;
  if (!c->encode) c->encode = h->encode;
  return c->own_encode ? 0 : -1;
}

// emit_metrics makes a scope emit its metrics.
static int emit_metrics(struct handler *h, struct call *c, PyObject *scope) {
  PyObject *id = PyLong_FromUnsignedLongLong(c->id);
  PyObject *hook = id ? PyObject_CallFunctionObjArgs(h->hook, id, NULL) : NULL;
  int status = hook ? PyObject_SetAttrString(scope, "hook", hook) : -1;
  if (id) Py_DecRef(id);
  if (hook) Py_DecRef(hook);
  return status;
}

// is_asyncio_cancel reports whether an exception is asyncio's CancelledError. If it is, that module is imported.
static bool is_asyncio_cancel(PyObject *type) {
  PyObject *name = PyUnicode_FromString("asyncio.exceptions");
  PyObject *module = name ? PyDict_GetItemWithError(PyImport_GetModuleDict(), name) : NULL;  // borrowed
  PyObject *canceled = module ? PyObject_GetAttrString(module, "CancelledError") : NULL;
  bool is = canceled && PyErr_GivenExceptionMatches(type, canceled);
  Py_XDECREF(canceled);
  Py_XDECREF(name);
  PyErr_Clear();
  return is;
}

// is_cancel tells whether the exception that is set ends its prediction as canceled. The model may have raised it: with
// coglet, too, its clients then see that status.
static bool is_cancel(void) {
  if (px_w.cancel_type && PyErr_ExceptionMatches(px_w.cancel_type)) return true;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  bool is = type && is_asyncio_cancel(type);
  PyErr_Restore(type, value, trace);
  return is;
}

// answer_exception ends a prediction whose exception is set.
static int answer_exception(struct handler *h, struct call *c, uint64_t nanos, PyObject *metrics) {
  if (is_cancel()) {
    PyErr_Clear();
    return px_reply(c->ch, PX_CANCELED, c->id, NULL, nanos, metrics, c->encode, h->fail);
  }
  PyObject *text = px_failure(h->fail);
  if (!text) return -1;
  int status = px_reply(c->ch, PX_FAILED, c->id, text, nanos, metrics, c->encode, h->fail);
  Py_DecRef(text);
  return status;
}

// map_file maps the memory file of a request. A thread beside others maps it for this request alone, since the mappings
// that are used again are shared.
static struct px_shared map_file(struct handler *h, const struct px_frame *f) {
  return h->begin ? px_shared_map_once(f->file) : px_shared_views(f->file, f->room);
}

// announce tells Python that a prediction of this thread begins. 0, or -1 with an exception.
static int announce(struct handler *h, uint64_t id) {
  PyObject *number = PyLong_FromUnsignedLongLong(id);
  PyObject *done = number ? PyObject_CallFunctionObjArgs(h->begin, number, NULL) : NULL;
  Py_XDECREF(number);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

// serve_request serves one request. 0, or -1 with an exception that ends the worker.
static int serve_request(struct handler *h, struct px_channel *ch, struct px_frame *f) {
  int status = -1;
  PyObject *scope = NULL, *entered = NULL, *metrics = NULL, *output = NULL, *input = NULL, *context = NULL;
  uint64_t began = px_now(), took = 0;
  struct call c = {.ch = ch,
                   .id = f->id,
                   .observed = f->flags & PX_FLAG_EVENTS,
                   .traced = f->flags & PX_FLAG_TRACE,
                   .encode = h->encode,
                   .function = &h->functions[f->flags & PX_FLAG_TRAIN ? 1 : 0]};

  if (h->begin && announce(h, f->id) < 0) return -1;
  if (c.observed && px_started(ch, f->id) < 0) PyErr_Clear();  // the answer reports the problem
  struct px_json_room room = {map_file(h, f), f->room, NULL};
  PyObject *message = px_request_read(f, room.shared);
  if (message) {
    input = PyDict_GetItemWithError(message, h->input_key);
    PyObject *files = NULL;
    if (PyDict_Size(message) > 1) {
      context = PyDict_GetItemWithError(message, h->context_key);
      files = PyDict_GetItemWithError(message, h->files_key);
      if (f->flags & PX_FLAG_FUNCTION) c.function = named(h, message);
    }
    if (!input)
      PyErr_SetString(PyExc_ValueError, "a request without an input");
    else if (!files || use_files(h, &c, files) == 0)
      scope = px_scope_enter(&h->scopes, context, &entered);
    if (scope && (!c.observed || emit_metrics(h, &c, scope) == 0))
      output = h->begin ? call_interruptible(h, &c, input) : call_model(h, &c, input);
  }
  if (atomic_load(&px_w.is_child)) px_exit_child();
  if (ch->items_of) px_items_close(ch);
  took = px_now() - began;
  atomic_store(&ch->page->running, 0);
  if (c.traced) px_put_times(ch, f->id, took, c.prepared ? c.prepared - began : took);
  h->mean = h->mean ? h->mean + took / 8 - h->mean / 8 : took;

  if (scope) metrics = px_scope_leave(&h->scopes, c.observed || h->begin, scope, entered);
  if (room.shared.views) Py_CLEAR(message);  // drops the arrays, so that px_reply sees whether others hold them
  room.output = output;
  ch->room = room.shared.at ? &room : NULL;
  if (output)
    status = px_reply(ch, PX_SUCCEEDED, f->id, output, took, metrics, c.encode, h->fail);
  else
    status = answer_exception(h, &c, took, metrics);
  ch->room = NULL;
  if (h->begin) px_shared_unmap(room.shared);

  if (c.own_encode) Py_DecRef(c.encode);
  Py_XDECREF(room.output);
  Py_XDECREF(metrics);
  Py_XDECREF(message);
  return status;
}

// before_call sends answers that should not wait for the prediction that is about to run.
static void before_call(struct handler *h, struct px_channel *ch) {
  pthread_mutex_lock(&ch->mu);
  bool queued = ch->out.len > 0;
  uint64_t since = ch->unsent_since;
  pthread_mutex_unlock(&ch->mu);
  if (!queued) return;
  if (h->mean > PX_FAST || px_now() - since > PX_HOLD)
    px_flush_with_gil(ch);
  else
    px_flusher_arm_for(ch);
}

// serve answers the requests of a slot until the front closes it. None, or NULL with an exception.
static PyObject *serve(struct px_channel *ch, PyObject *o) {
  struct handler h;
  PyObject *result = NULL;
  if (handler_load(&h, ch, o) < 0) goto out;
  for (;;) {
    struct px_frame f;
    int n;
    while ((n = px_channel_next(ch, &f)) > 0) {
      int status = 0;
      if (f.kind == PX_PREDICT) {
        before_call(&h, ch);
        if (px_claim(ch->page, f.id)) {
          px_set(&ch->current, f.id);
          status = serve_request(&h, ch, &f);
        }
      }
      px_frame_done(&f);
      if (status < 0) goto out;
    }
    if (n == 0) {
      px_flush_with_gil(ch);
      n = px_fill(ch, true);
      // Only after a wait: leftover code writes little between two requests that are both ready.
      if (n > 0 && px_log_idle(ch) < 0) {
        PyErr_NoMemory();
        goto out;
      }
      if (n > 0) continue;
    }
    if (n < 0) {
      PyErr_Format(PyExc_OSError, "read from the front: %s", strerror(errno));
      goto out;
    }
    break;
  }
  result = Py_NewRef(Py_None);
out:
  px_flush_with_gil(ch);  // answers that wait to share a write
  Py_CLEAR(ch->flush_text);
  handler_free(&h);
  return result;
}

// serve(handler): answers the requests of the one slot until the front closes it.
PyObject *px_serve(PX_SELF, PyObject *o) {
  PyThreadState *state = PyEval_SaveThread();
  int have = px_wait_slots(1);
  PyEval_RestoreThread(state);
  if (have < 1) Py_RETURN_NONE;
  return serve(px_w.slots[0], o);
}

// serve_slot(handler, slot): the same for one of several slots, on a thread of its own.
PyObject *px_serve_slot(PX_SELF, PyObject *args) {
  PyObject *handler;
  struct px_channel *ch;
  if (!PyArg_ParseTuple(args, "OO&", &handler, px_slot_arg, &ch)) return NULL;
  px_thread_serves(ch);
  PyObject *result = serve(ch, handler);
  px_thread_ended(ch);
  return result;
}
