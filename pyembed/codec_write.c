// From Python objects to JSON.
//
// References. While only exact built-in types are met, no Python code runs and
// the GIL is not released, so nothing changes under the writer and references
// borrowed from containers are good. Before anything that may run Python code,
// the open dicts keep their remaining items (codec_walk.h); lists and tuples
// are asked again for each element. Without a GIL, elements of lists are not
// borrowed, and dicts are copied first.
#include "codec_write.h"

#include <math.h>
#include <stdio.h>

#include "codec_bigint.h"
#include "codec_limits.h"
#include "codec_number_out.h"
#include "codec_place.h"
#include "codec_tensor.h"
#include "codec_text.h"
#include "codec_walk.h"

#define TEXT(n) TEXT_(n)
#define TEXT_(n) #n

struct writer {
  struct px_buf *out;
  struct px_borrowed *borrowed;  // NULL: all is copied
  PyObject *fallback;
  int depth;
  struct px_json_walk *walks;
  PyObject *enum_type;  // owned; NULL: not asked for yet, or no enum in this process
  struct px_json_place place;  // of the error, if the writer itself raised it
};

static int write_value(struct writer *w, PyObject *o);

static int no_memory(void) {
  PyErr_NoMemory();
  return -1;
}

// own_error has the place of the value added to the error that is set, on the way up.
static int own_error(struct writer *w) {
  px_json_place_begin(&w->place);
  return -1;
}

static int fail(struct writer *w, PyObject *exception, const char *text) {
  PyErr_SetString(exception, text);
  return own_error(w);
}

// ---- leaves --------------------------------------------------------------------

// surrogate_error replaces the UnicodeEncodeError that is set by a ValueError that says what str has.
static int surrogate_error(struct writer *w, PyObject *str) {
  char text[120];
  Py_ssize_t at = 0;
  Py_UCS4 c = 0;

  if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return -1;
  PyErr_Clear();
  for (Py_ssize_t n = PyUnicode_GetLength(str); at < n; at++) {
    c = PyUnicode_ReadChar(str, at);
    if (c >= 0xd800 && c <= 0xdfff) break;
  }
  snprintf(text, sizeof text, "str with a lone surrogate, U+%04X at index %zd, has no UTF-8 form", (unsigned)c, at);
  return fail(w, PyExc_ValueError, text);
}

// borrow writes the quotes of a str, between which its n bytes at s belong. These lie in the str itself or in a copy
// that it keeps.
static int borrow(struct writer *w, struct px_borrowed *borrowed, PyObject *o, const char *s, size_t n) {
  if (px_buf_put(w->out, "\"\"", 2) < 0) return no_memory();
  borrowed->list[borrowed->n++] = (struct px_borrowed_str){w->out->len - 1, s, n, Py_NewRef(o)};
  return 0;
}

// write_str writes a str, which borrowed may take; NULL: it is copied.
static int write_str(struct writer *w, PyObject *o, struct px_borrowed *borrowed) {
  Py_ssize_t length;
  const char *s = PyUnicode_AsUTF8AndSize(o, &length);
  if (!s) return surrogate_error(w, o);
  size_t n = (size_t)length;
  if (n >= PX_BORROW_MIN && borrowed && borrowed->n < PX_BORROWED_MAX && px_json_scan(s, s + n) == s + n)
    return borrow(w, borrowed, o, s, n);
  return px_json_put_string(w->out, s, n) < 0 ? no_memory() : 0;
}

static int write_int(struct writer *w, PyObject *o) {
  const char *why = NULL;
  int overflow;
  long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (!overflow) {
    if (v == -1 && PyErr_Occurred()) return -1;
    return px_json_write_int64(w->out, v) < 0 ? no_memory() : 0;
  }
  int rc = px_json_write_bigint(w->out, o, &why);
  return why ? fail(w, PyExc_ValueError, why) : rc;
}

static int write_float(struct writer *w, PyObject *o) {
  double v = PyFloat_AsDouble(o);
  if (isnan(v)) return fail(w, PyExc_ValueError, "nan cannot be written: JSON has no NaN or infinity");
  if (isinf(v)) return fail(w, PyExc_ValueError, "infinity cannot be written: JSON has no NaN or infinity");
  return px_json_write_float(w->out, v);
}

// write_number is write_float, but that of a NaN or an infinity is written in binary where the reader takes it.
static int write_number(struct writer *w, PyObject *o) {
  double v = PyFloat_AsDouble(o);
  if (isfinite(v)) return px_json_write_float(w->out, v);
  if (px_json_walk_keep(w->walks) < 0) return -1;
  int any = px_json_takes_any_number(w->fallback);
  if (any <= 0) return any < 0 ? -1 : write_float(w, o);
  return px_json_write_binary_number(w->out, v);
}

static int write_word(struct writer *w, const char *word, size_t n) {
  return px_buf_put(w->out, word, n) < 0 ? no_memory() : 0;
}

// constant is the JSON for None and the two bools, which exist once each; NULL for all else.
static const char *constant(PyObject *o) {
  if (o == Py_None) return "null";
  if (o == Py_True) return "true";
  if (o == Py_False) return "false";
  return NULL;
}

// ---- containers ----------------------------------------------------------------

static int enter(struct writer *w) {
  if (w->depth >= PX_JSON_DEPTH)
    return fail(w, PyExc_ValueError, "nested deeper than " TEXT(PX_JSON_DEPTH) " levels, or contains itself");
  w->depth++;
  return 0;
}

// put_mark appends c in front of the first element, and a comma in front of the others.
static int put_mark(struct writer *w, char c, int first) {
  return px_buf_putc(w->out, first ? c : ',') < 0 ? no_memory() : 0;
}

// close_bracket ends a container: with both brackets, where nothing came in between.
static int close_bracket(struct writer *w, const char *both, int empty) {
  return px_buf_put(w->out, empty ? both : both + 1, empty ? 2 : 1) < 0 ? no_memory() : 0;
}

static int write_array(struct writer *w, PyObject *o, int is_tuple) {
  int rc = -1;
  Py_ssize_t i;
  if (enter(w) < 0) return -1;
  Py_INCREF(o);
  // The length is asked for each time, since fallback may change a list.
  for (i = 0; i < (is_tuple ? PyTuple_Size(o) : PyList_Size(o)); i++) {
    if (put_mark(w, '[', i == 0) < 0) goto done;
    if (write_value(w, is_tuple ? PyTuple_GetItem(o, i) : PyList_GetItem(o, i)) < 0) {
      px_json_place_index(&w->place, i);
      goto done;
    }
  }
  rc = close_bracket(w, "[]", i == 0);
done:
  w->depth--;
  Py_DECREF(o);
  return rc;
}

// write_list writes a list as it is when each element's turn comes: fallback and other threads may change it.
static int write_list(struct writer *w, PyObject *o) {
  if (!px_py->free_threaded) return write_array(w, o, 0);
  int rc = -1;
  Py_ssize_t i;
  if (enter(w) < 0) return -1;
  Py_INCREF(o);
  for (i = 0; i < PyList_Size(o); i++) {
    PyObject *item = PyList_GetItemRef(o, i);
    if (!item) break;  // the list is shorter by now
    rc = put_mark(w, '[', i == 0);
    if (rc == 0) rc = write_value(w, item);
    Py_DECREF(item);
    if (rc < 0) {
      px_json_place_index(&w->place, i);
      goto done;
    }
  }
  PyErr_Clear();
  rc = close_bracket(w, "[]", i == 0);
done:
  w->depth--;
  Py_DECREF(o);
  return rc;
}

static int write_key_text(struct writer *w, PyObject *key) {
  const char *word = constant(key);
  if (word) return write_word(w, word, strlen(word));
  if (PyLong_Check(key)) return write_int(w, key);
  if (PyFloat_Check(key)) return write_float(w, key);
  PyObject *name = px_getattr((PyObject *)Py_TYPE(key), "__name__");
  if (!name) return -1;
  PyErr_Format(PyExc_TypeError, "keys of a dict must be str, int, float, bool or None for JSON, not %S", name);
  Py_DECREF(name);
  return own_error(w);
}

// write_key writes the key in quotes, and the colon.
static int write_key(struct writer *w, PyObject *key) {
  if (PyUnicode_Check(key)) {
    if (write_str(w, key, NULL) < 0) return -1;  // the place of an error is read from the buffer
  } else {
    if (write_word(w, "\"", 1) < 0 || write_key_text(w, key) < 0 || write_word(w, "\"", 1) < 0) return -1;
  }
  return write_word(w, ":", 1);
}

// write_member writes one item of a dict. The references may be borrowed from
// it: writing a key runs no Python code, and write_value takes care of itself.
static int write_member(struct writer *w, PyObject *key, PyObject *value, int first) {
  if (put_mark(w, '{', first) < 0) return -1;
  size_t at = w->out->len;
  if (write_key(w, key) < 0) return -1;
  size_t n = w->out->len - at - 1;  // without the colon
  if (write_value(w, value) == 0) return 0;
  px_json_place_key(&w->place, w->out->data + at, n);
  return -1;
}

static int write_dict(struct writer *w, PyObject *o) {
  struct px_json_walk k = {.outer = w->walks};
  PyObject *key, *value;
  int rc = -1, first = 1;

  if (enter(w) < 0) return -1;
  k.dict = o = px_py->free_threaded ? PyDict_Copy(o) : Py_NewRef(o);
  if (!o) {
    w->depth--;
    return -1;
  }
  w->walks = &k;
  while (!k.remaining && PyDict_Next(o, &k.pos, &key, &value)) {
    if (write_member(w, key, value, first) < 0) goto done;
    first = 0;
  }
  while (k.next < k.count) {
    if (write_member(w, k.remaining[k.next], k.remaining[k.next + 1], first) < 0) goto done;
    k.next += 2;
    first = 0;
  }
  rc = close_bracket(w, "{}", first);
done:
  w->walks = k.outer;
  w->depth--;
  if (k.remaining) px_json_walk_end(&k);
  Py_DECREF(o);
  return rc;
}

// write_mapping writes a subclass of dict by its items(), as Python's json
// does: an OrderedDict knows its order only there.
static int write_mapping(struct writer *w, PyObject *o) {
  int rc = -1;
  if (enter(w) < 0) return -1;
  PyObject *items = PyMapping_Items(o);  // a new list
  if (!items) goto done;
  Py_ssize_t n = PyList_Size(items);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = PyList_GetItem(items, i);
    if (!PyTuple_Check(item) || PyTuple_Size(item) != 2) {
      fail(w, PyExc_ValueError, "items() of a dict subclass must give pairs");
      goto done;
    }
    if (write_member(w, PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1), i == 0) < 0) goto done;
  }
  rc = close_bracket(w, "{}", n == 0);
done:
  w->depth--;
  Py_DecRef(items);
  return rc;
}

// ---- other types ----------------------------------------------------------------

// is_enum tells whether o is a member of an Enum: 1, 0, or -1 with an error set.
static int is_enum(struct writer *w, PyObject *o) {
  if (!w->enum_type) {
    // If enum is not imported, nothing is a member; importing it here would cost every worker.
    PyObject *name = PyUnicode_InternFromString("enum");
    PyObject *module = name ? PyDict_GetItemWithError(PyImport_GetModuleDict(), name) : NULL;
    Py_DecRef(name);
    if (!module) return PyErr_Occurred() ? -1 : 0;
    w->enum_type = px_getattr(module, "Enum");
    if (!w->enum_type) return -1;
  }
  return PyType_Check(w->enum_type) && PyType_IsSubtype(Py_TYPE(o), (PyTypeObject *)w->enum_type);
}

static int write_by_fallback(struct writer *w, PyObject *o) {
  // A fallback that always answers with something new ends here.
  if (enter(w) < 0) return -1;
  int rc = -1;
  PyObject *other = w->fallback ? PyObject_CallOneArg(w->fallback, o) : Py_NewRef(Py_NotImplemented);
  if (!other) goto done;
  if (other != Py_NotImplemented) {
    rc = Py_TYPE(other) == &PyTuple_Type ? px_json_write_tensor(w->out, w->borrowed, other) : write_value(w, other);
    goto done;
  }
  PyObject *name = px_getattr((PyObject *)Py_TYPE(o), "__qualname__");
  PyObject *module = px_getattr((PyObject *)Py_TYPE(o), "__module__");
  if (name && module) {
    int plain = PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "builtins") == 0;
    if (plain)
      PyErr_Format(PyExc_TypeError, "%S has no JSON form", name);
    else
      PyErr_Format(PyExc_TypeError, "%S.%S has no JSON form", module, name);
    own_error(w);
  }
  Py_DecRef(name);
  Py_DecRef(module);
done:
  w->depth--;
  Py_DecRef(other);
  return rc;
}

// write_other writes what is not exactly of a type of JSON.
static int write_other(struct writer *w, PyObject *o) {
  int rc = -1, member;
  Py_INCREF(o);
  if (px_json_walk_keep(w->walks) < 0) goto done;
  member = is_enum(w, o);
  if (member < 0) goto done;
  if (member && w->fallback)
    rc = write_by_fallback(w, o);
  else if (PyUnicode_Check(o))
    rc = write_str(w, o, w->borrowed);
  else if (PyLong_Check(o))
    rc = write_int(w, o);
  else if (PyFloat_Check(o))
    rc = write_number(w, o);
  else if (PyList_Check(o))
    rc = write_list(w, o);
  else if (PyTuple_Check(o))
    rc = write_array(w, o, 1);
  else if (PyDict_Check(o))
    rc = write_mapping(w, o);
  else
    rc = write_by_fallback(w, o);
done:
  Py_DECREF(o);
  return rc;
}

// write_value writes o, a reference to which may be borrowed from its container.
static int write_value(struct writer *w, PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  if (type == &PyUnicode_Type) return write_str(w, o, w->borrowed);
  if (type == &PyLong_Type) return write_int(w, o);
  if (type == &PyFloat_Type) return write_number(w, o);
  if (type == &PyDict_Type) return write_dict(w, o);
  if (type == &PyList_Type) return write_list(w, o);
  if (type == &PyTuple_Type) return write_array(w, o, 1);
  const char *word = constant(o);
  if (word) return write_word(w, word, strlen(word));
  return write_other(w, o);
}

void px_json_release(struct px_borrowed *borrowed) {
  while (borrowed->n > 0) Py_DecRef(borrowed->list[--borrowed->n].owner);
}

int px_json_borrow(struct px_buf *out, struct px_borrowed *borrowed, PyObject *o, PyObject *fallback) {
  struct writer w;
  size_t before = out->len;
  w.out = out;
  w.borrowed = borrowed;
  w.fallback = fallback;
  w.depth = 0;
  w.walks = NULL;
  w.enum_type = NULL;
  w.place.wanted = 0;

  int rc = write_value(&w, o);
  if (rc < 0) {
    out->len = before;
    px_json_place_raise(&w.place);
  }
  Py_DecRef(w.enum_type);
  return rc;
}
