// px_module.c makes the module _px, by which Python calls this package's C code.
#ifndef PX_MODULE_H
#define PX_MODULE_H

#include "px_python.h"

// px_module_init makes the module. GIL held. New reference, or NULL with an exception.
PyObject *px_module_init(void);

#endif
