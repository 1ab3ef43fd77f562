#include "codec_walk.h"

#include "base_mem.h"

int px_json_walk_keep(struct px_json_walk *innermost) {
  for (struct px_json_walk *k = innermost; k && !k->remaining; k = k->outer) {
    Py_ssize_t pos = k->pos;
    PyObject *key, *value;
    size_t n = 0;
    while (PyDict_Next(k->dict, &pos, &key, &value)) n++;
    PyObject **remaining = px_malloc(2 * n * sizeof *remaining);
    if (!remaining) {
      PyErr_NoMemory();
      return -1;
    }
    pos = k->pos;
    for (size_t i = 0; i < n && PyDict_Next(k->dict, &pos, &key, &value); i++) {
      remaining[2 * i] = Py_NewRef(key);
      remaining[2 * i + 1] = Py_NewRef(value);
    }
    k->remaining = remaining;
    k->next = 0;
    k->count = 2 * n;
  }
  return 0;
}

void px_json_walk_end(struct px_json_walk *walk) {
  for (size_t i = 0; i < walk->count; i++) Py_DecRef(walk->remaining[i]);
  px_free(walk->remaining);
}
