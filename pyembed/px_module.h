// px_module.c makes the module _px.
#ifndef PX_MODULE_H
#define PX_MODULE_H

#include "px_python.h"

// px_module_init makes the module _px.
PyObject *px_module_init(void);

#endif
