// A fake libnvidia-ml with three GPUs: a busy one, one that fell off the bus, and a MIG instance.
#include <stdlib.h>
#include <unistd.h>

struct memory {
  unsigned long long total, free, used;
};
struct utilization {
  unsigned int gpu, memory;
};

static int gpus[3];

int nvmlInit_v2(void) {
  return getenv("FAKE_NVML_BROKEN") ? 9 : 0;  // NVML_ERROR_DRIVER_NOT_LOADED
}

int nvmlDeviceGetCount_v2(unsigned int *count) {
  const char *gate = getenv("FAKE_NVML_GATE");
  while (gate && access(gate, F_OK))  // a driver that blocks until the file exists
    usleep(1000);
  *count = 3;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **device) {
  if (i == 1) return 15;  // NVML_ERROR_GPU_IS_LOST
  *device = &gpus[i];
  return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory) {
  memory->total = 80ull << 30;
  memory->used = device == &gpus[0] ? 5ull << 30 : 1ull << 30;
  memory->free = memory->total - memory->used;
  return 0;
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *utilization) {
  if (device == &gpus[2]) return 3;  // NVML_ERROR_NOT_SUPPORTED
  utilization->gpu = 75;
  utilization->memory = 20;
  return 0;
}
