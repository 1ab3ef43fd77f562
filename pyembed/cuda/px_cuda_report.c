// The report as JSON. Written here and not in Go, because Python asks for it, and nothing that
// Python calls may enter Go.
#include "px_cuda.h"

#include <stdarg.h>
#include <stdio.h>

// text grows in buf as long as there is room; len counts on.
struct text {
  char *buf;
  size_t cap, len;
};

static void put_char(struct text *t, char c) {
  if (t->len < t->cap) t->buf[t->len] = c;
  t->len++;
}

static void put(struct text *t, const char *s) {
  for (; *s; s++) put_char(t, *s);
}

// Only integers and our own words pass through here: printf's floating point follows the locale
// that a model may set, and would write a comma.
__attribute__((format(printf, 2, 3))) static void putf(struct text *t, const char *format, ...) {
  char small[64];
  va_list args;
  va_start(args, format);
  vsnprintf(small, sizeof small, format, args);
  va_end(args);
  put(t, small);
}

// What a driver or a path says is text by convention only: bytes outside ASCII are taken as Latin-1,
// which always is valid JSON.
static void put_string(struct text *t, const char *s) {
  put_char(t, '"');
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') {
      put_char(t, '\\');
      put_char(t, (char)c);
    } else if (c < 0x20 || c >= 0x7f) {
      putf(t, "\\u%04x", c);
    } else {
      put_char(t, (char)c);
    }
  }
  put_char(t, '"');
}

static void put_member(struct text *t, const char *name, const char *value) {
  if (!*value) return;
  putf(t, ",\"%s\":", name);
  put_string(t, value);
}

static void put_seconds(struct text *t, const char *name, int64_t us) {
  if (us < 0) us = 0;
  putf(t, "\"%s\":%lld.%06lld", name, (long long)(us / 1000000), (long long)(us % 1000000));
}

static void put_device(struct text *t, int index, const struct px_cuda_device *device) {
  putf(t, "{\"index\":%d", index);
  put_member(t, "name", device->name);
  put_member(t, "uuid", device->uuid);
  putf(t, ",\"compute_capability\":\"%d.%d\"", device->capability_major, device->capability_minor);
  putf(t, ",\"memory_total_bytes\":%llu", (unsigned long long)device->memory_total);
  if (device->memory_free) putf(t, ",\"memory_free_bytes\":%llu", (unsigned long long)device->memory_free);
  put_member(t, "pci_bus_id", device->pci_bus_id);
  put_char(t, '}');
}

size_t px_cuda_report_json(char *buf, size_t cap, int timeout_ms) {
  struct px_cuda_report report;
  struct text t = {.buf = buf, .cap = cap, .len = 0};
  px_cuda_wait(timeout_ms, &report);

  put(&t, "{\"state\":");
  put_string(&t, px_cuda_state_name(report.state));
  if (report.driver_version)
    putf(&t, ",\"driver\":\"%d.%d\"", report.driver_version / 1000, report.driver_version % 1000 / 10);
  put_member(&t, "library", report.library);
  put(&t, ",\"devices\":[");
  for (int i = 0; i < report.device_count; i++) {
    if (i) put_char(&t, ',');
    put_device(&t, i, &report.devices[i]);
  }
  put(&t, "],");
  put_seconds(&t, "seconds", report.total_us);
  put(&t, ",\"steps\":{");
  put_seconds(&t, "load", report.load_us);
  put_char(&t, ',');
  put_seconds(&t, "init", report.init_us);
  put_char(&t, ',');
  put_seconds(&t, "context", report.context_us);
  put_char(&t, '}');
  if (report.code) putf(&t, ",\"code\":%d", report.code);
  put_member(&t, "error", report.error);
  put_member(&t, "fix", report.fix);
  put_char(&t, '}');

  if (t.len < cap)
    buf[t.len] = '\0';
  else if (cap)
    buf[0] = '\0';
  return t.len;
}
