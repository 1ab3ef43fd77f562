// The functions of the CUDA driver API that are used, declared from its documentation: the
// build needs no CUDA header. Names with _v2 are those to which cuda.h's macros expand the
// plain names; the plain ones are older functions with other types.
#ifndef PX_CUDA_DRIVER_H
#define PX_CUDA_DRIVER_H

#include <stddef.h>

typedef int px_cu_result;
typedef int px_cu_device;
typedef void *px_cu_context;
typedef struct {
  unsigned char bytes[16];
} px_cu_uuid;

// CUdevice_attribute
enum { PX_CU_CAPABILITY_MAJOR = 75, PX_CU_CAPABILITY_MINOR = 76 };

// X(result, name, arguments), for functions that every driver since CUDA 7 has.
#define PX_CU_REQUIRED(X) \
  X(px_cu_result, cuInit, (unsigned flags)) \
  X(px_cu_result, cuDriverGetVersion, (int *version)) \
  X(px_cu_result, cuDeviceGetCount, (int *count)) \
  X(px_cu_result, cuDeviceGet, (px_cu_device * device, int ordinal)) \
  X(px_cu_result, cuDeviceGetName, (char *name, int len, px_cu_device device)) \
  X(px_cu_result, cuDeviceGetAttribute, (int *value, int attribute, px_cu_device device)) \
  X(px_cu_result, cuDeviceTotalMem_v2, (size_t *bytes, px_cu_device device)) \
  X(px_cu_result, cuDeviceGetPCIBusId, (char *id, int len, px_cu_device device)) \
  X(px_cu_result, cuDevicePrimaryCtxRetain, (px_cu_context * context, px_cu_device device)) \
  X(px_cu_result, cuCtxPushCurrent_v2, (px_cu_context context)) \
  X(px_cu_result, cuCtxPopCurrent_v2, (px_cu_context * context)) \
  X(px_cu_result, cuMemGetInfo_v2, (size_t *free_bytes, size_t *total_bytes)) \
  X(px_cu_result, cuGetErrorName, (px_cu_result error, const char **text)) \
  X(px_cu_result, cuGetErrorString, (px_cu_result error, const char **text))

// Functions that are NULL in older drivers.
#define PX_CU_OPTIONAL(X) \
  X(px_cu_result, cuDeviceGetUuid, (px_cu_uuid * uuid, px_cu_device device)) \
  X(px_cu_result, cuDeviceGetUuid_v2, (px_cu_uuid * uuid, px_cu_device device)) \
  X(px_cu_result, cuDevicePrimaryCtxRelease_v2, (px_cu_device device))

struct px_cuda_driver {
#define PX_CU_FIELD(result, name, args) result(*name) args;
  PX_CU_REQUIRED(PX_CU_FIELD)
  PX_CU_OPTIONAL(PX_CU_FIELD)
#undef PX_CU_FIELD
};

enum px_cuda_opened { PX_CUDA_OPENED, PX_CUDA_NO_LIBRARY, PX_CUDA_NO_SYMBOL };

// Opens the library and fills the table. file gets the path that was opened, if it is known,
// and why the text of the error; both always end with a NUL. One thread; it takes the dynamic
// loader's lock, so no fork may happen meanwhile. The library is never closed: libcuda starts
// its own threads and exit handlers.
enum px_cuda_opened px_cuda_driver_open(struct px_cuda_driver *driver, const char *library, char *file, size_t file_cap,
                                        char *why, size_t why_cap);

#endif
