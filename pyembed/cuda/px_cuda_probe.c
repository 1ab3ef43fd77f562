#define _GNU_SOURCE
#include "px_cuda_probe.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "px_cuda_driver.h"

int64_t px_cuda_now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void set_hint(struct px_cuda_report *report, const char *key) {
  const char *fix = px_cuda_fix(key, &report->state);
  snprintf(report->fix, sizeof report->fix, "%s", fix);
}

// Records that a call failed: the state, the error in the driver's words, the fix in ours.
static void call_failed(const struct px_cuda_driver *driver, struct px_cuda_report *report, const char *call,
                        px_cu_result code) {
  const char *name = NULL, *text = NULL;
  if (driver->cuGetErrorName(code, &name) != 0 || !name) name = "an error without a name";
  if (driver->cuGetErrorString(code, &text) != 0 || !text) text = "the driver has no description of it";
  report->code = code;
  snprintf(report->error, sizeof report->error, "%s failed: %s (%d), %s", call, name, code, text);
  char key[16];
  snprintf(key, sizeof key, "%d", code);
  set_hint(report, key);
}

static void format_uuid(char *out, size_t cap, const char *kind, const px_cu_uuid *uuid) {
  const unsigned char *b = uuid->bytes;
  snprintf(out, cap, "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", kind, b[0], b[1], b[2],
           b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

// On a device in MIG mode the second function names the instance and the first its parent.
static void read_uuid(const struct px_cuda_driver *driver, px_cu_device device, char *out, size_t cap) {
  px_cu_uuid one, two;
  int have_one = driver->cuDeviceGetUuid && driver->cuDeviceGetUuid(&one, device) == 0;
  int have_two = driver->cuDeviceGetUuid_v2 && driver->cuDeviceGetUuid_v2(&two, device) == 0;
  if (have_one && have_two && memcmp(&one, &two, sizeof one) != 0)
    format_uuid(out, cap, "MIG", &two);
  else if (have_one || have_two)
    format_uuid(out, cap, "GPU", have_one ? &one : &two);
}

// A fact that a device does not tell is left out; only its number matters for the rest.
static void read_device(const struct px_cuda_driver *driver, px_cu_device device, struct px_cuda_device *out) {
  size_t total = 0;
  if (driver->cuDeviceGetName(out->name, sizeof out->name, device) != 0) out->name[0] = '\0';
  out->name[sizeof out->name - 1] = '\0';
  if (driver->cuDeviceGetPCIBusId(out->pci_bus_id, sizeof out->pci_bus_id, device) != 0) out->pci_bus_id[0] = '\0';
  out->pci_bus_id[sizeof out->pci_bus_id - 1] = '\0';
  if (driver->cuDeviceGetAttribute(&out->capability_major, PX_CU_CAPABILITY_MAJOR, device) != 0 ||
      driver->cuDeviceGetAttribute(&out->capability_minor, PX_CU_CAPABILITY_MINOR, device) != 0)
    out->capability_major = out->capability_minor = 0;
  if (driver->cuDeviceTotalMem_v2(&total, device) == 0) out->memory_total = total;
  read_uuid(driver, device, out->uuid, sizeof out->uuid);
}

// Retains the primary context, which is the one that CUDA's runtime, and so torch and the rest,
// will use, and leaves it retained for the life of the process.
static void retain(const struct px_cuda_driver *driver, px_cu_device device, struct px_cuda_report *report) {
  px_cu_context context = NULL, popped = NULL;
  size_t free_bytes = 0, total_bytes = 0;
  const char *call = "cuDevicePrimaryCtxRetain";
  px_cu_result code = driver->cuDevicePrimaryCtxRetain(&context, device);
  if (code != 0) goto failed;
  call = "cuCtxPushCurrent";
  code = driver->cuCtxPushCurrent_v2(context);
  if (code != 0) goto release;
  call = "cuMemGetInfo";
  code = driver->cuMemGetInfo_v2(&free_bytes, &total_bytes);
  driver->cuCtxPopCurrent_v2(&popped);
  if (code != 0) goto release;
  report->devices[0].memory_free = free_bytes;
  report->state = PX_CUDA_READY;
  return;
release:
  if (driver->cuDevicePrimaryCtxRelease_v2) driver->cuDevicePrimaryCtxRelease_v2(device);
failed:
  call_failed(driver, report, call, code);
}

void px_cuda_probe(const char *library, const char *device_node, px_cuda_on_step on_step,
                   struct px_cuda_report *report) {
  struct px_cuda_driver driver;
  px_cu_device device, first = 0;
  px_cu_result code;
  int count = 0;

  on_step(PX_CUDA_LOADING);
  int64_t before = px_cuda_now_us();
  enum px_cuda_opened opened = px_cuda_driver_open(&driver, library, report->library, sizeof report->library,
                                                   report->error, sizeof report->error);
  report->load_us = px_cuda_now_us() - before;
  if (opened == PX_CUDA_NO_LIBRARY) {
    report->state = PX_CUDA_ABSENT;
    // No driver and no device is the ordinary machine without a GPU: nothing to advise.
    if (access(device_node, F_OK) == 0) set_hint(report, "no_library");
    return;
  }
  if (opened == PX_CUDA_NO_SYMBOL) {
    set_hint(report, "symbol");
    return;
  }

  on_step(PX_CUDA_INITIALISING);
  before = px_cuda_now_us();
  code = driver.cuInit(0);
  report->init_us = px_cuda_now_us() - before;
  // Needs no cuInit, and tells most where cuInit fails.
  if (driver.cuDriverGetVersion(&report->driver_version) != 0) report->driver_version = 0;
  if (code != 0) {
    call_failed(&driver, report, "cuInit", code);
    return;
  }

  on_step(PX_CUDA_LISTING);
  code = driver.cuDeviceGetCount(&count);
  if (code != 0) {
    call_failed(&driver, report, "cuDeviceGetCount", code);
    return;
  }
  if (count == 0) {
    snprintf(report->error, sizeof report->error, "the CUDA driver shows no device to this process");
    set_hint(report, "100");  // CUDA_ERROR_NO_DEVICE, said in another way
    return;
  }
  for (int i = 0; i < count && i < PX_CUDA_MAX_DEVICES; i++) {
    code = driver.cuDeviceGet(&device, i);
    if (code != 0) {
      call_failed(&driver, report, "cuDeviceGet", code);
      return;
    }
    if (i == 0) first = device;
    read_device(&driver, device, &report->devices[i]);
    report->device_count = i + 1;
  }

  on_step(PX_CUDA_CONTEXT);
  before = px_cuda_now_us();
  retain(&driver, first, report);
  report->context_us = px_cuda_now_us() - before;
}
