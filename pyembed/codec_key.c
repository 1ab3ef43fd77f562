// The cache of object keys: the keys of one model's requests are few and the
// same each time, so their strings and hashes are made once.
//
// The strings are not interned. Clients choose keys, and CPython 3.12 makes
// each interned string immortal: a client could fill the memory with them.
// Names that must match by identity are pinned instead (px_json_pin_key).
#include "codec_key.h"

#include <stdatomic.h>
#include <string.h>

#define KEY_MAX 32  // bytes; longer ones are hardly worth the comparison
#define SETS 256    // about 32 KiB in all: it stays in the second-level cache
#define WAYS 2

struct entry {
  PyObject *str;  // owned; NULL: free
  uint8_t len, pinned;
  char text[KEY_MAX];
};

// Guarded by the GIL of the main interpreter; without one, by busy.
static struct {
  struct entry entry[WAYS];
  uint8_t next;  // the way to replace next
  _Atomic bool busy;
} cache[SETS];

// enter takes a set. false: another thread has it. The caller then does without, since waiting costs more than a new
// str.
static bool enter(size_t set) {
  return !px_py->free_threaded || !atomic_exchange_explicit(&cache[set].busy, true, memory_order_acquire);
}

static void leave(size_t set) {
  if (px_py->free_threaded) atomic_store_explicit(&cache[set].busy, false, memory_order_release);
}

static uint64_t load8(const char *s) {
  uint64_t v;
  memcpy(&v, s, 8);
  return v;
}

static uint64_t load4(const char *s) {
  uint32_t v;
  memcpy(&v, s, 4);
  return v;
}

// set_of returns the set of a key. The middle of a long key does not count; keys
// that differ only there share a set, and so do those that a client makes up
// to collide: the price is a missed cache.
static size_t set_of(const char *s, size_t n) {
  uint64_t a = 0, b = 0;
  if (n >= 8) {
    a = load8(s);
    b = load8(s + n - 8);
  } else if (n >= 4) {
    a = load4(s) | load4(s + n - 4) << 32;
  } else if (n > 0) {
    a = (uint64_t)(unsigned char)s[0] << 16 | (uint64_t)(unsigned char)s[n / 2] << 8 | (unsigned char)s[n - 1];
  }
  uint64_t h = (a * 0x9e3779b97f4a7c15u) ^ (b * 0xc2b2ae3d27d4eb4fu) ^ n;
  h ^= h >> 29;
  h *= 0xbf58476d1ce4e5b9u;
  return (size_t)(h >> 40) % SETS;
}

static struct entry *find(size_t set, const char *s, size_t n) {
  for (int way = 0; way < WAYS; way++) {
    struct entry *e = &cache[set].entry[way];
    if (e->str && e->len == n && memcmp(e->text, s, n) == 0) return e;
  }
  return NULL;
}

// keep puts str, whose text s is, into the set; without effect where all ways are pinned.
static void keep(size_t set, const char *s, size_t n, PyObject *str, int pinned) {
  if (!enter(set)) return;
  struct entry *e = find(set, s, n);
  for (int i = 0; !e && i < WAYS; i++) {
    struct entry *candidate = &cache[set].entry[cache[set].next++ % WAYS];
    if (!candidate->pinned) e = candidate;
  }
  PyObject *old = NULL;
  if (e) {
    old = e->str;
    e->str = Py_NewRef(str);
    e->len = (uint8_t)n;
    e->pinned = (uint8_t)pinned;
    memcpy(e->text, s, n);
  }
  leave(set);
  Py_DecRef(old);
}

PyObject *px_json_key(const char *s, size_t n) {
  if (n > KEY_MAX) return PyUnicode_DecodeUTF8(s, (Py_ssize_t)n, NULL);
  size_t set = set_of(s, n);
  bool entered = enter(set);
  struct entry *e = entered ? find(set, s, n) : NULL;
  PyObject *str = e ? Py_NewRef(e->str) : NULL;
  if (entered) leave(set);
  if (str) return str;
  str = PyUnicode_DecodeUTF8(s, (Py_ssize_t)n, NULL);
  if (str) keep(set, s, n, str, 0);
  return str;
}

int px_json_pin_key(PyObject *key) {
  Py_ssize_t n;
  if (!PyUnicode_CheckExact(key)) {
    PyErr_SetString(PyExc_TypeError, "a key must be a str");
    return -1;
  }
  const char *s = PyUnicode_AsUTF8AndSize(key, &n);
  if (!s) return -1;
  if (n <= KEY_MAX) keep(set_of(s, (size_t)n), s, (size_t)n, key, 1);
  return 0;
}

void px_json_clear(void) {
  for (int set = 0; set < SETS; set++) {
    for (int way = 0; way < WAYS; way++) {
      struct entry *e = &cache[set].entry[way];
      PyObject *old = e->str;
      *e = (struct entry){0};
      Py_DecRef(old);
    }
  }
}
