// codec_place.c finds the place in a value of the object that cannot be written.
#ifndef CODEC_PLACE_H
#define CODEC_PLACE_H

#include <stddef.h>

#include "base_python.h"

// The place of an object that could not be written, such as ["boxes"][3]. It
// is built from its end while the error passes up through the containers.
// Begin with wanted = 0: the functions do nothing until px_json_place_begin.
struct px_json_place {
  int wanted;
  size_t at;  // where in text it begins
  char text[200];
};

// px_json_place_begin begins the place of an error that was raised. The next
// two prepend a step, and dots when the text is full. No GIL.
void px_json_place_begin(struct px_json_place *p);
void px_json_place_index(struct px_json_place *p, Py_ssize_t i);
void px_json_place_key(struct px_json_place *p, const char *key, size_t n);  // as written, in quotes

// px_json_place_raise raises the error that is set again, with the place at the end of its text. GIL.
void px_json_place_raise(struct px_json_place *p);

#endif
