// Strings of JSON as bytes: no Python here.
#include "codec_text.h"

const char *px_json_bad_utf8(const char *s, const char *end) {
  const unsigned char *p = (const unsigned char *)s, *e = (const unsigned char *)end;
  while (p < e) {
    // Table 3-7 of the Unicode standard: which second byte may follow the
    // first. It keeps out overlong forms, surrogates and what is above U+10FFFF.
    unsigned c = *p, low = 0x80, high = 0xbf;
    int more;
    if (c < 0x80) {
      p++;
      continue;
    }
    if (c >= 0xc2 && c <= 0xdf) {
      more = 1;
    } else if (c >= 0xe0 && c <= 0xef) {
      more = 2;
      if (c == 0xe0) low = 0xa0;
      if (c == 0xed) high = 0x9f;
    } else if (c >= 0xf0 && c <= 0xf4) {
      more = 3;
      if (c == 0xf0) low = 0x90;
      if (c == 0xf4) high = 0x8f;
    } else {
      return (const char *)p;
    }
    const unsigned char *first = p++;
    for (; more > 0; more--, p++, low = 0x80, high = 0xbf)
      if (p == e || *p < low || *p > high) return (const char *)first;
  }
  return end;
}

// escape writes the escape of c to to, which has room for six; how many it wrote.
static size_t escape(char *to, unsigned char c) {
  static const char hex[] = "0123456789abcdef";
  char letter;
  switch (c) {
    case '"':
      letter = '"';
      break;
    case '\\':
      letter = '\\';
      break;
    case '\b':
      letter = 'b';
      break;
    case '\f':
      letter = 'f';
      break;
    case '\n':
      letter = 'n';
      break;
    case '\r':
      letter = 'r';
      break;
    case '\t':
      letter = 't';
      break;
    default:
      memcpy(to, "\\u00", 4);
      to[4] = hex[c >> 4];
      to[5] = hex[c & 15];
      return 6;
  }
  to[0] = '\\';
  to[1] = letter;
  return 2;
}

// What a string may need beyond its own bytes while it has no escape, and what mostly comes after it. Room for that is
// made at once: to make it afterwards would double the room and move a long string.
#define PX_BEYOND 32

int px_json_put_string(struct px_buf *out, const char *s, size_t n) {
  const char *end = s + n;
  size_t before = out->len;

  if (px_buf_reserve(out, n + PX_BEYOND) < 0) return -1;
  out->data[out->len++] = '"';
  while (s < end) {
    const char *stop = px_json_scan(s, end);
    if (px_buf_reserve(out, (size_t)(stop - s) + 6) < 0) goto fail;
    memcpy(out->data + out->len, s, (size_t)(stop - s));
    out->len += (size_t)(stop - s);
    if (stop < end) out->len += escape(out->data + out->len, (unsigned char)*stop++);
    s = stop;
  }
  if (px_buf_putc(out, '"') < 0) goto fail;
  return 0;
fail:
  out->len = before;
  return -1;
}
