// Where in a value the object is that could not be written.
#include "codec_place.h"

#include <stdio.h>
#include <string.h>

enum { UNWANTED, OPEN, FULL };  // of px_json_place.wanted

static const char dots[] = {'.', '.', '.'};

void px_json_place_begin(struct px_json_place *p) {
  p->wanted = OPEN;
  p->at = sizeof p->text;
}

// prepend puts a step in front; where there is no room for it, and dots after it, dots for all that follow.
static void prepend(struct px_json_place *p, const char *step, size_t n) {
  if (p->wanted != OPEN) return;
  if (p->at < n + sizeof dots) {
    p->wanted = FULL;
    step = dots;
    n = sizeof dots;
  }
  p->at -= n;
  memcpy(p->text + p->at, step, n);
}

void px_json_place_index(struct px_json_place *p, Py_ssize_t i) {
  char step[32];
  int n = snprintf(step, sizeof step, "[%zd]", i);
  prepend(p, step, (size_t)n);
}

void px_json_place_key(struct px_json_place *p, const char *key, size_t n) {
  char step[64] = "[";
  if (n > 40) {  // a key cut short could end within a character
    key = "\"...\"";
    n = 5;
  }
  memcpy(step + 1, key, n);
  step[n + 1] = ']';
  prepend(p, step, n + 2);
}

void px_json_place_raise(struct px_json_place *p) {
  PyObject *type, *value, *trace, *place, *text = NULL;
  if (p->wanted == UNWANTED || p->at == sizeof p->text) return;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  place = PyUnicode_DecodeUTF8(p->text + p->at, (Py_ssize_t)(sizeof p->text - p->at), "replace");
  if (place) text = PyUnicode_FromFormat("%S, at %U", value, place);
  if (text) PyErr_SetObject(type, text);
  Py_DecRef(place);
  Py_DecRef(text);
  Py_DecRef(type);
  Py_DecRef(value);
  Py_DecRef(trace);
}
