// The functions of NVIDIA's management library (NVML) that are used, by their ABI in the "NVML API Reference Guide".
#ifndef PX_NVML_H
#define PX_NVML_H

#include <stddef.h>

// The most GPUs that are read.
#define PX_NVML_MAX 64

struct px_nvml_memory {
  unsigned long long total, free, used;  // bytes
};

struct px_nvml_utilization {
  unsigned int gpu, memory;  // percent
};

// The library's functions. All but init may be called from any thread once init has returned 0.
struct px_nvml {
  int (*init)(void);
  int (*count)(unsigned int *);
  int (*device)(unsigned int, void **);
  int (*memory)(void *, struct px_nvml_memory *);
  int (*utilization)(void *, struct px_nvml_utilization *);
};

struct px_nvml_sample {
  unsigned int index;
  unsigned long long memory_used;   // bytes
  unsigned long long memory_total;  // bytes
  int utilization;                  // percent; -1: the GPU does not report it
};

// Opens the library and initializes it. 0, or -1 if there is none or it cannot be used. Any thread; it can block for as
// long as the driver does. The library stays open.
int px_nvml_open(struct px_nvml *nvml, const char *library);

// Reads all GPUs that can be read, but at most cap; returns how many. Any thread; it can block for as long as the
// driver does.
size_t px_nvml_read(const struct px_nvml *nvml, struct px_nvml_sample *samples, size_t cap);

#endif
