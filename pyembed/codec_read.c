// From JSON to Python objects.
#include "codec_read.h"

#include <stdlib.h>

#include "codec_array.h"
#include "codec_key.h"
#include "codec_limits.h"
#include "codec_number_in.h"
#include "codec_tensor.h"
#include "codec_text.h"

#define PX_ROOM ((size_t)256 << 10)  // for the text of strings with escapes, at first: more would often be too much

struct reader {
  const char *start, *p, *end;
  int depth;
  bool within;  // the value that is being read is that of arrays->within
  const struct px_json_arrays *arrays;
  bool tensors;  // a value may be a tensor
  struct px_shared shared;  // elements of tensors may lie there
  struct px_buf scratch;  // a string without its escapes, or a number with its NUL
  // Elements of the arrays that are being read, innermost last, all owned:
  // a list is made when its length is known, and a failure frees them all at once.
  PyObject **values;
  size_t count, room;
  PyObject *few[32];
};

static PyObject *read_value(struct reader *r);

static PyObject *fail(struct reader *r, const char *at, const char *reason) {
  PyErr_Format(PyExc_ValueError, "invalid JSON at byte %zd: %s", (Py_ssize_t)(at - r->start), reason);
  return NULL;
}

static void skip_space(struct reader *r) {
  const char *p = r->p;
  while (p < r->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
  r->p = p;
}

static int hex4(const char *p, const char *end) {
  int v = 0;
  if (end - p < 4) return -1;
  for (int i = 0; i < 4; i++) {
    int c = (unsigned char)p[i], d;
    if (c >= '0' && c <= '9')
      d = c - '0';
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
      d = (c | 0x20) - 'a' + 10;
    else
      return -1;
    v = v * 16 + d;
  }
  return v;
}

static size_t encode_utf8(char *to, unsigned c) {
  if (c < 0x80) {
    to[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    to[0] = (char)(0xc0 | c >> 6);
    to[1] = (char)(0x80 | (c & 0x3f));
    return 2;
  }
  if (c < 0x10000) {
    to[0] = (char)(0xe0 | c >> 12);
    to[1] = (char)(0x80 | (c >> 6 & 0x3f));
    to[2] = (char)(0x80 | (c & 0x3f));
    return 3;
  }
  to[0] = (char)(0xf0 | c >> 18);
  to[1] = (char)(0x80 | (c >> 12 & 0x3f));
  to[2] = (char)(0x80 | (c >> 6 & 0x3f));
  to[3] = (char)(0x80 | (c & 0x3f));
  return 4;
}

// unescape reads the escape whose backslash is at r->p, appends its character to scratch and moves r->p behind it; -1
// with an error set. Escapes of one letter do not come here.
static int unescape(struct reader *r) {
  const char *at = r->p, *p = at + 1;
  unsigned c;

  if (p == r->end) {
    fail(r, p, "unterminated string");
    return -1;
  }
  if (*p++ != 'u') {
    fail(r, at, "unknown escape");
    return -1;
  }
  int high = hex4(p, r->end), low = -1;
  if (high < 0) {
    fail(r, at, "\\u needs four hexadecimal digits");
    return -1;
  }
  p += 4;
  c = (unsigned)high;
  if (high >= 0xd800 && high <= 0xdfff) {
    if (high < 0xdc00 && r->end - p >= 6 && p[0] == '\\' && p[1] == 'u') low = hex4(p + 2, r->end);
    if (low < 0xdc00 || low > 0xdfff) {
      fail(r, at, "lone surrogate escape");
      return -1;
    }
    p += 6;
    c = 0x10000 + ((c - 0xd800) << 10) + ((unsigned)low - 0xdc00);
  }
  if (px_buf_reserve(&r->scratch, 4) < 0) {
    PyErr_NoMemory();
    return -1;
  }
  r->scratch.len += encode_utf8(r->scratch.data + r->scratch.len, c);
  r->p = p;
  return 0;
}

// decode makes a str of n bytes at s, which stand for the source from r->p's
// string on; from is where that began, for the error's place.
static PyObject *decode(struct reader *r, const char *s, size_t n, const char *from, int is_key) {
  PyObject *str = is_key ? px_json_key(s, n) : PyUnicode_DecodeUTF8(s, (Py_ssize_t)n, NULL);
  if (!str && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
    PyErr_Clear();
    // The escapes are ASCII, so what is wrong in the text made is wrong in the source.
    return fail(r, px_json_bad_utf8(from, r->end), "invalid UTF-8");
  }
  return str;
}

// What a letter after a backslash stands for; 0: unescape knows.
static const char letters[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                  ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};

// take_piece appends the n bytes at r->p to scratch, with room for a character after them. The first piece makes room
// for the rest of the text, up to a limit, so that a string does not move as it grows. 0, or -1 with MemoryError set.
static int take_piece(struct reader *r, size_t n) {
  size_t rest = (size_t)(r->end - r->p), need = n + 4;
  if (!r->scratch.cap && need < rest) need = rest < PX_ROOM ? rest : need < PX_ROOM ? PX_ROOM : need;
  if (px_buf_reserve(&r->scratch, need) < 0) {
    PyErr_NoMemory();
    return -1;
  }
  memcpy(r->scratch.data + r->scratch.len, r->p, n);
  r->scratch.len += n;
  r->p += n;
  return 0;
}

// read_string reads the string whose opening quote is at r->p.
static PyObject *read_string(struct reader *r, int is_key) {
  const char *from = ++r->p;
  r->scratch.len = 0;
  for (;;) {
    const char *stop = px_json_scan(r->p, r->end);
    if (stop == r->end) return fail(r, stop, "unterminated string");
    if (*stop != '"' && *stop != '\\') return fail(r, stop, "control character in a string");
    if (*stop == '"' && r->p == from) {
      r->p = stop + 1;
      return decode(r, from, (size_t)(stop - from), from, is_key);
    }
    if (take_piece(r, (size_t)(stop - r->p)) < 0) return NULL;
    if (*stop == '"') {
      r->p++;
      return decode(r, r->scratch.data, r->scratch.len, from, is_key);
    }
    char letter = r->end - stop > 1 ? letters[(unsigned char)stop[1]] : 0;
    if (letter) {
      r->scratch.data[r->scratch.len++] = letter;
      r->p += 2;
    } else if (unescape(r) < 0) {
      return NULL;
    }
  }
}

static int push(struct reader *r, PyObject *value) {
  if (r->count == r->room) {
    size_t room = r->room * 2;
    PyObject **values = px_realloc(r->values == r->few ? NULL : r->values, room * sizeof *values);
    if (!values) {
      Py_DecRef(value);
      PyErr_NoMemory();
      return -1;
    }
    if (r->values == r->few) memcpy(values, r->few, sizeof r->few);
    r->values = values;
    r->room = room;
  }
  r->values[r->count++] = value;
  return 0;
}

// descend enters an array or object, whose bracket is at r->p.
static int descend(struct reader *r) {
  if (++r->depth <= PX_JSON_DEPTH) return 0;
  PyErr_Format(PyExc_ValueError, "invalid JSON at byte %zd: nested deeper than %d levels",
               (Py_ssize_t)(r->p - r->start), PX_JSON_DEPTH);
  return -1;
}

static PyObject *read_array(struct reader *r) {
  size_t base = r->count;
  if (descend(r) < 0) return NULL;
  r->p++;
  skip_space(r);
  if (r->p < r->end && *r->p == ']') goto done;
  for (;;) {
    PyObject *value = read_value(r);
    if (!value || push(r, value) < 0) return NULL;
    skip_space(r);
    if (r->p == r->end) return fail(r, r->p, "unterminated array");
    if (*r->p == ']') break;
    if (*r->p != ',') return fail(r, r->p, "expected ',' or ']'");
    r->p++;
    skip_space(r);
  }
done:
  r->p++;
  r->depth--;
  PyObject *list = PyList_New((Py_ssize_t)(r->count - base));
  if (!list) return NULL;
  for (size_t i = base; i < r->count; i++) PyList_SetItem(list, (Py_ssize_t)(i - base), r->values[i]);
  r->count = base;
  return list;
}

// read_named reads the value of a member that may be an array, or have one in it.
static PyObject *read_named(struct reader *r, PyObject *key) {
  const struct px_json_arrays *arrays = r->arrays;
  if (r->depth == 1 && PyUnicode_Compare(key, arrays->within) == 0) {
    r->within = true;
    PyObject *value = read_value(r);
    r->within = false;
    return value;
  }
  if (r->depth == 2 && r->within && r->p < r->end && *r->p == '[') {
    for (int i = 0; i < arrays->n; i++) {
      if (key != arrays->list[i].name && PyUnicode_Compare(key, arrays->list[i].name) != 0) continue;
      PyObject *array = px_json_read_array(&r->p, r->end, &r->scratch, arrays->list[i].code);
      if (array || PyErr_Occurred()) return array;
    }
  }
  return read_value(r);
}

// read_member reads one member of an object into dict: 0, or -1 with an error set.
static int read_member(struct reader *r, PyObject *dict) {
  PyObject *key = NULL, *value = NULL;
  int rc = -1;

  if (r->p == r->end || *r->p != '"') {
    fail(r, r->p, r->p == r->end ? "unterminated object" : "expected a string as key");
    goto done;
  }
  key = read_string(r, 1);
  if (!key) goto done;
  skip_space(r);
  if (r->p == r->end || *r->p != ':') {
    fail(r, r->p, "expected ':'");
    goto done;
  }
  r->p++;
  skip_space(r);
  value = r->arrays ? read_named(r, key) : read_value(r);
  if (!value) goto done;
  rc = PyDict_SetItem(dict, key, value);
done:
  Py_DecRef(key);
  Py_DecRef(value);
  return rc;
}

static PyObject *read_object(struct reader *r) {
  if (descend(r) < 0) return NULL;
  PyObject *dict = PyDict_New();
  if (!dict) return NULL;
  r->p++;
  skip_space(r);
  if (r->p < r->end && *r->p == '}') goto done;
  for (;;) {
    if (read_member(r, dict) < 0) goto failed;
    skip_space(r);
    if (r->p == r->end || (*r->p != '}' && *r->p != ',')) {
      fail(r, r->p, r->p == r->end ? "unterminated object" : "expected ',' or '}'");
      goto failed;
    }
    if (*r->p == '}') break;
    r->p++;
    skip_space(r);
  }
done:
  r->p++;
  r->depth--;
  return dict;
failed:
  Py_DecRef(dict);
  return NULL;
}

static PyObject *read_word(struct reader *r, const char *word, size_t n, PyObject *value) {
  if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0) return fail(r, r->p, "expected a value");
  r->p += n;
  return Py_NewRef(value);
}

// read_value reads the value that begins at r->p.
static PyObject *read_value(struct reader *r) {
  if (r->p == r->end) return fail(r, r->p, "expected a value, but the text ends");
  switch (*r->p) {
    case '"':
      return read_string(r, 0);
    case '{':
      return read_object(r);
    case '[':
      return read_array(r);
    case 't':
      return read_word(r, "true", 4, Py_True);
    case 'f':
      return read_word(r, "false", 5, Py_False);
    case 'n':
      return read_word(r, "null", 4, Py_None);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': {
      const char *why = NULL;
      PyObject *number = px_json_read_number(&r->p, r->end, &r->scratch, &why);
      return why ? fail(r, r->p, why) : number;
    }
    case 'N':
    case 'I':
      return fail(r, r->p, "JSON has no NaN or infinity");
    case PX_TENSOR_MARK:
      if (r->tensors) {
        PyObject *tensor = px_json_read_tensor(&r->p, r->end, r->shared);
        return tensor || PyErr_Occurred() ? tensor : fail(r, r->p, "a tensor that is cut off");
      }
      return fail(r, r->p, "expected a value");
    case '\xef':
      return fail(r, r->p, "expected a value (a byte order mark is not allowed)");
    default:
      return fail(r, r->p, "expected a value");
  }
}

PyObject *px_json_loads(const char *s, size_t n) {
  return px_json_loads_arrays(s, n, NULL, (struct px_shared){NULL, 0, NULL});
}

PyObject *px_json_loads_arrays(const char *s, size_t n, const struct px_json_arrays *arrays, struct px_shared shared) {
  struct reader r;
  // Not `= {0}`: clearing `few` would cost more than reading a small text.
  r.start = r.p = s;
  r.end = s + n;
  r.depth = 0;
  r.within = false;
  r.arrays = arrays && arrays->n > 0 ? arrays : NULL;
  r.tensors = arrays != NULL;
  r.shared = shared;
  r.scratch = (struct px_buf){0};
  r.values = r.few;
  r.count = 0;
  r.room = sizeof r.few / sizeof *r.few;

  skip_space(&r);
  PyObject *value = read_value(&r);
  if (!value) goto done;
  skip_space(&r);
  if (r.p != r.end) {
    fail(&r, r.p, "text after the value");
    Py_CLEAR(value);
  }
done:
  while (r.count > 0) Py_DecRef(r.values[--r.count]);
  if (r.values != r.few) px_free(r.values);
  px_buf_free(&r.scratch);
  return value;
}
