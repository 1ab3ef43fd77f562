#define _GNU_SOURCE  // dladdr
#include "px_cuda_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum px_cuda_opened px_cuda_driver_open(struct px_cuda_driver *driver, const char *library, char *file, size_t file_cap,
                                        char *why, size_t why_cap) {
  file[0] = why[0] = '\0';
  // RTLD_GLOBAL would change which symbols Python's extension modules are bound to.
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *text = dlerror();
    snprintf(why, why_cap, "%s", text ? text : "dlopen gave no reason");
    dlerror();  // a second call frees what glibc keeps of the first for this thread
    return PX_CUDA_NO_LIBRARY;
  }
  const char *missing = NULL;
  // C has no conversion from an object pointer to a function pointer: copy the bytes.
#define PX_CU_LOAD(name) \
  do { \
    void *symbol = dlsym(handle, #name); \
    memcpy(&driver->name, &symbol, sizeof symbol); \
  } while (0)
#define PX_CU_MUST(result, name, args) \
  PX_CU_LOAD(name); \
  if (!driver->name && !missing) missing = #name;
#define PX_CU_MAY(result, name, args) PX_CU_LOAD(name);
  PX_CU_REQUIRED(PX_CU_MUST)
  PX_CU_OPTIONAL(PX_CU_MAY)

  // Which of several installed drivers it was is the first question when one fails.
  Dl_info info;
  void *address = NULL;
  memcpy(&address, &driver->cuInit, sizeof address);
  if (address && dladdr(address, &info) && info.dli_fname)
    snprintf(file, file_cap, "%s", info.dli_fname);
  else
    snprintf(file, file_cap, "%s", library);
  if (missing) {
    snprintf(why, why_cap, "%s has no function %s", file, missing);
    return PX_CUDA_NO_SYMBOL;
  }
  return PX_CUDA_OPENED;
}
