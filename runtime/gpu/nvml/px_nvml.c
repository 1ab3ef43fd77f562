#include "px_nvml.h"

#include <dlfcn.h>
#include <string.h>

// load copies a function's address: C has no conversion from an object pointer to a function pointer.
static int load(void *handle, const char *name, void *to) {
  void *symbol = dlsym(handle, name);
  memcpy(to, &symbol, sizeof symbol);
  return symbol ? 0 : -1;
}

int px_nvml_open(struct px_nvml *nvml, const char *library) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    (void)dlerror();  // frees what glibc keeps of it for this thread
    return -1;
  }
  if (load(handle, "nvmlInit_v2", &nvml->init) || load(handle, "nvmlDeviceGetCount_v2", &nvml->count) ||
      load(handle, "nvmlDeviceGetHandleByIndex_v2", &nvml->device) ||
      load(handle, "nvmlDeviceGetMemoryInfo", &nvml->memory) ||
      load(handle, "nvmlDeviceGetUtilizationRates", &nvml->utilization) || nvml->init()) {
    dlclose(handle);
    return -1;
  }
  return 0;
}

size_t px_nvml_read(const struct px_nvml *nvml, struct px_nvml_sample *samples, size_t cap) {
  unsigned int count = 0;
  if (nvml->count(&count)) return 0;
  size_t read = 0;
  for (unsigned int i = 0; i < count && read < cap; i++) {
    void *device = NULL;
    struct px_nvml_memory memory;
    struct px_nvml_utilization utilization;
    if (nvml->device(i, &device) || nvml->memory(device, &memory)) continue;
    samples[read].index = i;
    samples[read].memory_used = memory.used;
    samples[read].memory_total = memory.total;
    samples[read].utilization = nvml->utilization(device, &utilization) ? -1 : (int)utilization.gpu;
    read++;
  }
  return read;
}
