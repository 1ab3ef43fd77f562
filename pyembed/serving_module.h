// serving_module.c makes the module _px, by which Python calls this package's C code.
#ifndef SERVING_MODULE_H
#define SERVING_MODULE_H

#include "base_python.h"

// px_module_init makes the module. GIL held. New reference, or NULL with an exception.
PyObject *px_module_init(void);

#endif
