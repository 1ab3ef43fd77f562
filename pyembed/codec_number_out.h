// codec_number_out.c writes numbers.
#ifndef CODEC_NUMBER_OUT_H
#define CODEC_NUMBER_OUT_H

#include <stdint.h>

#include "base_mem.h"

// px_json_write_float appends v as repr would, v being finite. GIL. 0, or -1
// with MemoryError set.
int px_json_write_float(struct px_buf *out, double v);

// px_json_write_int64 appends v in decimal. No GIL. 0, or -1 without memory; it sets no Python error.
int px_json_write_int64(struct px_buf *out, int64_t v);

#endif
