#define _GNU_SOURCE  // RTLD_DEFAULT and friends
#include "open.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLDEST_MINOR 10
#define OLDEST_FREE_THREADED_MINOR 14  // before, such builds were experiments

// dlsym's answer is an object pointer; ISO C converts it to a function pointer only by its bytes.
#define STORE(slot, address) memcpy(&(slot), &(void *){address}, sizeof(void *))

static void *required(void *lib, const char *name, const char **missing) {
  void *p = dlsym(lib, name);
  if (!p && !*missing) *missing = name;
  return p;
}

// fill looks up every entry; the name of the first one missing, or NULL.
static const char *fill(void *lib, struct cpy3_api *api) {
  const char *missing = NULL;
#define X(ret, name, args) STORE(api->name, required(lib, #name, &missing));
  CPY3_FUNCS(X)
#undef X
#define X(ret, name, args) \
  STORE(api->name, dlsym(lib, "_" #name "_SizeT")); \
  if (!api->name) STORE(api->name, required(lib, #name, &missing));
  CPY3_FUNCS_SIZE_T(X)
#undef X
#define X(ret, name, args) STORE(api->name, dlsym(lib, #name));
  CPY3_FUNCS_OPTIONAL(X)
#undef X
#define X(name) api->name = required(lib, #name, &missing);
  CPY3_TYPES(X)
  CPY3_EXCEPTIONS(X)
#undef X
#define X(name, symbol) api->name = required(lib, #symbol, &missing);
  CPY3_CONSTANTS(X)
#undef X
  return missing;
}

// type_of reads the type of a static object, which the library may not have where api says.
static void *type_of(const char *object, const struct cpy3_api *api) {
  void *type;
  memcpy(&type, object + api->type_at, sizeof type);
  return type;
}

// check says whether this library can be used at all, before any of its
// symbols is asked for: an old or foreign library should be called so, rather
// than be blamed for the first function that it lacks.
static enum cpy3_status check(void *lib, struct cpy3_api *api, char *detail, size_t n) {
  STORE(api->Py_GetVersion, dlsym(lib, "Py_GetVersion"));
  if (!api->Py_GetVersion) {
    snprintf(detail, n, "it has no Py_GetVersion");
    return CPY3_NOT_PYTHON;
  }
  const char *version = api->Py_GetVersion();
  int length = (int)strcspn(version, " "), major, minor;
  if (sscanf(version, "%d.%d", &major, &minor) != 2) {
    snprintf(detail, n, "its version is %.40s", version);
    return CPY3_NOT_PYTHON;
  }
  snprintf(detail, n, "%.*s", length < 40 ? length : 40, version);
  if (major < 3 || (major == 3 && minor < OLDEST_MINOR)) return CPY3_TOO_OLD;
  // The function is exported by free-threaded builds alone. A build that says that it is one is believed, too.
  api->free_threaded = strstr(version, "free-threading") || dlsym(lib, "_Py_MergeZeroLocalRefcount");
  if (api->free_threaded && minor < OLDEST_FREE_THREADED_MINOR) return CPY3_FREE_THREADED;
  api->head_size = api->free_threaded ? sizeof(struct cpy3_free_threaded_head) : sizeof(struct cpy3_head);
  api->type_at = api->free_threaded ? offsetof(struct cpy3_free_threaded_head, type) : offsetof(struct cpy3_head, type);

  // Static types have their own type filled in by the compiler, so the
  // layout can be checked without starting the interpreter.
  char *type = dlsym(lib, "PyType_Type"), *str = dlsym(lib, "PyUnicode_Type");
  if (type && str && (type_of(type, api) != type || type_of(str, api) != type)) return CPY3_BAD_LAYOUT;
  return CPY3_OK;
}

enum cpy3_status cpy3_open(const char *path, struct cpy3_api **out, char *detail, size_t n) {
  enum cpy3_status status = CPY3_OK;
  const char *missing;
  void *lib = NULL;

  *out = NULL;
  detail[0] = 0;
  struct cpy3_api *api = calloc(1, sizeof *api);
  if (!api) {
    status = CPY3_NO_MEMORY;
    goto done;
  }
  api->size = sizeof *api;
  lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!lib) {
    const char *why = dlerror();
    snprintf(detail, n, "%s", why ? why : "unknown reason");
    status = CPY3_NO_LIBRARY;
    goto done;
  }
  status = check(lib, api, detail, n);
  if (status != CPY3_OK) goto done;
  missing = fill(lib, api);
  if (missing) {
    snprintf(detail, n, "%s", missing);
    status = CPY3_NO_SYMBOL;
    goto done;
  }
  *out = api;
  api = NULL;
  lib = NULL;
done:
  free(api);
  if (lib) dlclose(lib);
  return status;
}

const char *cpy3_version(const struct cpy3_api *api) { return api->Py_GetVersion(); }

int cpy3_bytes_main(const struct cpy3_api *api, int argc, char **argv) { return api->Py_BytesMain(argc, argv); }

void cpy3_initialize(const struct cpy3_api *api, int signals) { api->Py_InitializeEx(signals); }

int cpy3_run(const struct cpy3_api *api, const char *code) { return api->PyRun_SimpleStringFlags(code, NULL); }
