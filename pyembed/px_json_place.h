// px_json_place.c says where in a value the object is that cannot be written.
#ifndef PX_JSON_PLACE_H
#define PX_JSON_PLACE_H

#include <stddef.h>

#include "px_python.h"

// Where in a value the object is that could not be written, such as
// ["boxes"][3], made from its end while the error goes up through the
// containers. Begin with wanted = 0: then the functions do nothing, until
// px_json_place_begin says that an error was raised that wants its place.
struct px_json_place {
  int wanted;
  size_t at;  // where in text it begins
  char text[200];
};

void px_json_place_begin(struct px_json_place *p);
void px_json_place_index(struct px_json_place *p, Py_ssize_t i);
void px_json_place_key(struct px_json_place *p, const char *key, size_t n);  // as written, in quotes

// px_json_place_raise raises the error that is set again, with the place in its text. GIL.
void px_json_place_raise(struct px_json_place *p);

#endif
