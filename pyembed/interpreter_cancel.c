// Cancels: what the handler of the cancel signal does.
//
// The front repeats the signal. The first raises an exception in the code that runs, unless that would break an import:
// then a later signal does. An exception that was swallowed is raised again: interpreter_swallowed.c.
#include "interpreter_cancel.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpreter_interrupt.h"
#include "interpreter_postpone.h"
#include "interpreter_stack.h"
#include "interpreter_swallowed.h"
#include "channel_worker.h"

#define PX_LOOKS 16

// What was done last. With the GIL, on the main thread.
static struct {
  struct px_channel *ch;  // the channel whose prediction is to end, or NULL
  PyObject *handler;  // the server's; NULL: it is a synchronous prediction
  PyObject *diverter;  // makes a loop or greenlets end it, where an exception cannot; NULL: not imported yet
  bool diverted;  // it does
  PyObject *frame;  // what the handler interrupts, while it runs; borrowed
  bool looking;  // the handler runs Python code, which it does not interrupt
  bool postponed;  // ask_again is to run the handler
  int looks;  // how often the handler looks at once whether the exception was dropped
  uint64_t at;  // when the exception was raised
  bool printed;  // Python has printed an exception that was dropped
  PyObject *print;  // Python's own unraisablehook
} cancel;

// was_dropped tells whether the exception is to be raised again.
static bool was_dropped(PyObject *frame) {
  if (px_was_swallowed(px_w.raised, cancel.at, frame, pthread_self())) return true;
  // What drops it may be on the way to that.
  if (!PyUnstable_Object_IsUniquelyReferenced(px_w.raised) && cancel.looks-- > 0) raise(SIGUSR1);
  return false;
}

// take is the id that runs on a channel, if the front asked for its end and an exception may be raised in this frame
// now.
static uint64_t take(struct px_channel *ch, PyObject *frame) {
  uint64_t running = atomic_load(&ch->page->running), word = atomic_load(&ch->page->cancel);
  if (running == 0 || (word & ~PX_CANCEL_AGAIN) != running) return 0;
  bool again = word == ch->cancel_taken;
  if (again && (cancel.ch != ch || !(px_w.raised ? was_dropped(frame) : cancel.diverted))) return 0;
  if (px_in_import(frame)) return 0;
  if (!cancel.postponed && px_postpone(frame, false)) {
    cancel.postponed = true;
    return 0;
  }
  if (!again) px_cancel_forget();
  cancel.ch = ch;
  ch->cancel_taken = word;
  return running;
}

void px_cancel_forget(void) {
  Py_CLEAR(px_w.raised);
  cancel.ch = NULL;
  cancel.diverted = cancel.printed = false;
}

// divert makes the event loop or the greenlets that run on this thread end the prediction: they drop exceptions that
// others raise. It returns None if there are none, True if they will end it, else the type of exception to raise; NULL
// if that cannot be found out.
static PyObject *divert(void) {
  PyObject *modules = PyImport_GetModuleDict();
  PyObject *greenlet = PyUnicode_FromString("greenlet"), *events = PyUnicode_FromString("asyncio.events");
  PyObject *trio = PyUnicode_FromString("trio");
  bool any = greenlet && events && trio &&
             (PyDict_GetItemWithError(modules, greenlet) || PyDict_GetItemWithError(modules, events) ||
              PyDict_GetItemWithError(modules, trio));
  Py_XDECREF(trio);
  Py_XDECREF(greenlet);
  Py_XDECREF(events);
  if (!any) return Py_NewRef(Py_None);
  if (!cancel.diverter) {
    PyObject *module = PyImport_ImportModule("cog._worker.serve.diverter");
    cancel.diverter = module ? PyObject_CallMethod(module, "Diverter", "O", px_w.cancel_type) : NULL;
    Py_XDECREF(module);
  }
  if (!cancel.diverter) return NULL;
  return PyObject_CallMethod(cancel.diverter, "divert", "OO", cancel.frame, cancel.diverted ? Py_True : Py_False);
}

// interrupt(type=None): raises an exception of this type in the code that the handler interrupted, as handle_cancels
// says. Without one it is cog's, or an event loop ends the prediction.
static PyObject *interrupt(PX_SELF, PyObject *args) {
  PyObject *type = NULL, *diverted = NULL;
  if (!PyArg_ParseTuple(args, "|O", &type)) return NULL;
  if (!type) {
    diverted = divert();
    if (!diverted) PyErr_Clear();
    if (diverted == Py_True) {
      cancel.diverted = true;
      return diverted;
    }
    type = diverted && diverted != Py_None ? diverted : px_w.cancel_type;
  }
  Py_CLEAR(px_w.raised);
  PyObject *text = PyUnicode_FromString("the prediction was canceled");
  px_w.raised = text ? PyObject_CallFunctionObjArgs(type, text, NULL) : NULL;
  Py_XDECREF(text);
  if (px_w.raised) {
    PyErr_SetObject(type, px_w.raised);
    cancel.looks = PX_LOOKS;
    cancel.at = px_now();
    raise(SIGUSR1);  // the handler runs again with the next Python code, and sees whether the exception was dropped
  }
  Py_XDECREF(diverted);
  return NULL;
}

// canceled returns [(slot, id), …]: the running predictions whose end was asked for and which may be interrupted, each
// once unless the exception was dropped.
static PyObject *canceled(PyObject *frame) {
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < px_w.nslots; i++) {
    uint64_t id = take(px_w.slots[i], frame);
    if (id != 0 && px_append(list, Py_BuildValue("iK", i, (unsigned long long)id)) < 0) Py_CLEAR(list);
  }
  return list;
}

// renew_cancel(): the handler could not interrupt what it was given; the front's next signal tries again.
static PyObject *renew_cancel(PX_SELF, PX_NO_ARGS) {
  for (int i = 0; i < px_w.nslots; i++) px_w.slots[i]->cancel_taken = 0;
  Py_RETURN_NONE;
}

// handle is what the handler of the cancel signal does. It runs on the main thread, between two bytecodes or after an
// interrupted system call, so what it finds running is what it interrupts. It is C: Python code in it would be
// interrupted by the signals that interrupt sends.
static PyObject *handle(PyObject *self, PyObject *frame) {
  PyObject *result = NULL;
  if (atomic_load(&px_w.is_child) || cancel.looking) Py_RETURN_NONE;
  px_stack_finish(cancel.handler);
  cancel.looking = true;
  PyObject *list = canceled(frame);
  cancel.looking = false;
  cancel.frame = frame;
  if (!list || PyList_Size(list) == 0) {
    result = list ? Py_NewRef(Py_None) : NULL;
  } else if (cancel.handler) {
    result = PyObject_CallFunctionObjArgs(cancel.handler, list, NULL);
  } else {
    PyObject *none = PyTuple_New(0);
    if (none) result = interrupt(self, none);
    Py_XDECREF(none);
  }
  cancel.frame = NULL;
  Py_XDECREF(list);
  return result;
}

// on_cancel(signum, frame): the handler of the cancel signal.
static PyObject *on_cancel(PyObject *self, PyObject *args) {
  int number;
  PyObject *frame;
  if (!PyArg_ParseTuple(args, "iO", &number, &frame)) return NULL;
  return handle(self, frame);
}

// ask_again(code, offset): the next instruction of code in which a cancel was postponed; see px_postpone. It may be that
// of a thread that is not to be interrupted.
static PyObject *ask_again(PyObject *self, PyObject *args __attribute__((unused))) {
  if (px_own_slot) {
    if (!px_interrupt_pending()) Py_RETURN_NONE;
    px_interrupt_raise();  // main calls px_postpone_end
    return NULL;
  }
  if (!cancel.postponed || syscall(SYS_gettid) != getpid()) Py_RETURN_NONE;
  px_postpone_end();
  PyObject *current = PySys_GetObject("_getframe");  // borrowed
  PyObject *frame = current ? PyObject_CallFunctionObjArgs(current, NULL) : NULL;
  PyObject *result = frame ? handle(self, frame) : NULL;
  cancel.postponed = false;
  Py_XDECREF(frame);
  return result;
}

// handle_cancels(handler): calls handler([(slot, id), …]) with what is to be interrupted. Without one, or with None,
// on_cancel does it.
static PyObject *handle_cancels(PX_SELF, PyObject *handler) {
  PyObject *before = cancel.handler;
  cancel.handler = handler == Py_None ? NULL : Py_NewRef(handler);
  Py_XDECREF(before);
  Py_RETURN_NONE;
}

// is_signal_free() -> bool: whether the model has left the cancel signal alone. If so, the server sets on_cancel.
static PyObject *is_signal_free(PX_SELF, PX_NO_ARGS) {
  struct sigaction now;
  bool free = sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL;
  px_stack_use_signal(free);
  return PyBool_FromLong(free);
}

// set_cancel_type(type): the exception that on_cancel raises.
static PyObject *set_cancel_type(PX_SELF, PyObject *type) {
  px_w.cancel_type = Py_NewRef(type);
  Py_RETURN_NONE;
}

// unraisable(args): prints an exception that was dropped, as Python's own hook, but that of a cancel only once on main,
// and not if a slot's thread gets it again: that would be in the code that prints.
static PyObject *unraisable(PX_SELF, PyObject *args) {
  PyObject *value = px_attribute(args, "exc_value");
  bool again = value && value == px_w.raised && cancel.printed;
  if (value && value == px_w.raised) cancel.printed = true;
  if (value && px_interrupt_again(value)) again = true;
  Py_XDECREF(value);
  if (again) Py_RETURN_NONE;
  return PyObject_CallFunctionObjArgs(cancel.print, args, NULL);
}

// use_unraisablehook(hook): what prints exceptions that were dropped.
static PyObject *use_unraisablehook(PX_SELF, PyObject *hook) {
  cancel.print = Py_NewRef(hook);
  Py_RETURN_NONE;
}

PyMethodDef px_cancel_methods[] = {
    {"handle_cancels", handle_cancels, METH_O, NULL},
    {"interrupt", interrupt, METH_VARARGS, NULL},
    {"renew_cancel", renew_cancel, METH_NOARGS, NULL},
    {"on_cancel", on_cancel, METH_VARARGS, NULL},
    {"ask_again", ask_again, METH_VARARGS, NULL},
    {"is_signal_free", is_signal_free, METH_NOARGS, NULL},
    {"set_cancel_type", set_cancel_type, METH_O, NULL},
    {"unraisable", unraisable, METH_O, NULL},
    {"use_unraisablehook", use_unraisablehook, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
