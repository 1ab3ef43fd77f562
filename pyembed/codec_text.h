// codec_text.c reads and writes the strings of JSON as bytes.
#ifndef CODEC_TEXT_H
#define CODEC_TEXT_H

#include <stddef.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base_mem.h"

// px_json_put_string appends the n bytes at s, which must be UTF-8, as a JSON
// string with its quotes. No GIL needed, no Python error; 0, or -1 without memory.
int px_json_put_string(struct px_buf *out, const char *s, size_t n);

// px_json_scan finds the first byte of [p, end) that a JSON string cannot hold as
// it is: a quote, a backslash or a control character. end if there is none.
static inline const char *px_json_scan(const char *p, const char *end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1f);
  for (; end - p >= 16; p += 16) {
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, slash));
    // Unsigned x <= 0x1f, for which SSE2 has no comparison.
    hit = _mm_or_si128(hit, _mm_cmpeq_epi8(_mm_min_epu8(x, control), x));
    int bits = _mm_movemask_epi8(hit);
    if (bits) return p + __builtin_ctz((unsigned)bits);
  }
#endif
  while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p > 0x1f) p++;
  return p;
}

// px_json_bad_utf8 is the first byte of [p, end) that does not begin or
// continue a sequence of strict UTF-8, or end.
const char *px_json_bad_utf8(const char *p, const char *end);

#endif
