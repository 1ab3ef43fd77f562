// Hooks of the tests of the JSON bridge (build tag pinion_test).
#ifndef CODEC_JSONTEST_H
#define CODEC_JSONTEST_H

#include "codec_json.h"

// px_jsontest_prepare takes cpy3's table and registers the module _pxjson. Before the interpreter starts; 0 or -1.
int px_jsontest_prepare(const void *table);

// px_jsontest_call appends to out the bytes that __main__.function(data)
// returns. GIL. 0, or -1 after printing the Python exception to stderr.
int px_jsontest_call(const char *function, const char *data, size_t n, struct px_buf *out);

#endif
