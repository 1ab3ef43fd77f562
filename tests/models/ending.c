// A library that leaves files when its process ends.
#include <stdio.h>
#include <stdlib.h>

static void leave(const char *name) {
  FILE *f = fopen(name, "w");
  if (f) fclose(f);
}

static void at_exit(void) { leave("atexit"); }

__attribute__((constructor)) static void begin(void) { atexit(at_exit); }
__attribute__((destructor)) static void end(void) { leave("destructor"); }
