// A fake CUDA driver for tests, which needs no GPU. The test compiles it as a shared library;
// the variable FAKECUDA chooses its behaviour:
//
//   ok            two devices, driver 12.4
//   mig           one device whose two UUIDs differ
//   odd           one device whose name is not plain text; the UUID functions fail
//   zero          cuInit succeeds, no device
//   init=N        cuInit fails with N
//   count=N       cuDeviceGetCount fails with N
//   context=N     cuDevicePrimaryCtxRetain fails with N
//   push=N        cuCtxPushCurrent fails with N
//   meminfo=N     cuMemGetInfo fails with N
//   hang          cuInit never returns
//   gate=PATH     cuInit returns once a byte was read from the fifo PATH
//   loadgate=PATH the same for dlopen, in a constructor
//
// fake_counts counts the calls that retain, push and release.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

typedef struct {
  unsigned char bytes[16];
} uuid;

struct counts {
  int init, retained, released, pushed, popped;
};

static struct counts counts;

API struct counts *fake_counts(void) { return &counts; }

static const char *mode(void) {
  const char *value = getenv("FAKECUDA");
  return value ? value : "ok";
}

static int is(const char *name) { return strcmp(mode(), name) == 0; }

// The N of "name=N", else 0.
static int number(const char *name) {
  size_t n = strlen(name);
  return strncmp(mode(), name, n) == 0 && mode()[n] == '=' ? atoi(mode() + n + 1) : 0;
}

static void wait_at(const char *name) {
  size_t n = strlen(name);
  char byte;
  if (strncmp(mode(), name, n) != 0 || mode()[n] != '=') return;
  int fd = open(mode() + n + 1, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, &byte, 1) < 0) abort();
  close(fd);
}

__attribute__((constructor)) static void loaded(void) { wait_at("loadgate"); }

API int cuInit(unsigned flags) {
  (void)flags;
  counts.init++;
  if (is("hang"))
    for (;;) pause();
  wait_at("gate");
  return number("init");
}

API int cuCtxGetCurrent(void **context) {
  *context = NULL;
  return counts.init ? 0 : 3;
}

API int cuDriverGetVersion(int *version) {
  *version = 12040;
  return 0;
}

API int cuDeviceGetCount(int *count) {
  *count = is("zero") ? 0 : is("mig") || is("odd") ? 1 : 2;
  return number("count");
}

API int cuDeviceGet(int *device, int ordinal) {
  *device = 7 + ordinal;  // a handle is not an index
  return 0;
}

API int cuDeviceGetName(char *name, int len, int device) {
  if (is("odd"))
    snprintf(name, (size_t)len, "a \"quoted\" \\ name\twith \xff bytes");
  else
    snprintf(name, (size_t)len, "Fake GPU %d", device - 7);
  return 0;
}

API int cuDeviceGetAttribute(int *value, int attribute, int device) {
  if (device < 7 || is("odd")) return 1;
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : -1;
  return 0;
}

API int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  *bytes = device == 7 ? (size_t)80 << 30 : (size_t)24 << 30;
  return 0;
}

API int cuDeviceGetPCIBusId(char *id, int len, int device) {
  if (is("odd")) return 1;
  snprintf(id, (size_t)len, "0000:%02x:00.0", device);
  return 0;
}

static int fill_uuid(uuid *out, int device, int salt) {
  if (is("odd")) return 801;
  for (int i = 0; i < 16; i++) out->bytes[i] = (unsigned char)(device * 16 + i + salt);
  return 0;
}

API int cuDeviceGetUuid(uuid *out, int device) { return fill_uuid(out, device, 0); }
API int cuDeviceGetUuid_v2(uuid *out, int device) { return fill_uuid(out, device, is("mig") ? 1 : 0); }

#ifndef WITHOUT_RETAIN
API int cuDevicePrimaryCtxRetain(void **context, int device) {
  int code = device == 7 ? number("context") : 101;
  if (code == 0) {
    counts.retained++;
    *context = &counts;
  }
  return code;
}
#endif

API int cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  counts.released++;
  return 0;
}

API int cuCtxPushCurrent_v2(void *context) {
  if (context != &counts) return 201;
  if (number("push")) return number("push");
  counts.pushed++;
  return 0;
}

API int cuCtxPopCurrent_v2(void **context) {
  *context = &counts;
  counts.popped++;
  return 0;
}

API int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
  if (counts.pushed == counts.popped) return 201;  // CUDA_ERROR_INVALID_CONTEXT: no context is current
  *free_bytes = (size_t)79 << 30;
  *total_bytes = (size_t)80 << 30;
  return number("meminfo");
}

static const struct {
  int code;
  const char *name, *text;
} errors[] = {
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

// error_text is 1 for numbers that the driver does not know, as its own functions are.
static int error_text(int error, const char **name, const char **text) {
  *name = *text = NULL;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    if (errors[i].code != error) continue;
    *name = errors[i].name;
    *text = errors[i].text;
    return 0;
  }
  return 1;
}

API int cuGetErrorName(int error, const char **name) {
  const char *text;
  return error_text(error, name, &text);
}

API int cuGetErrorString(int error, const char **text) {
  const char *name;
  return error_text(error, &name, text);
}
