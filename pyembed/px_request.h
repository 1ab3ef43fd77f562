// px_request.c reads the bodies of requests.
#ifndef PX_REQUEST_H
#define PX_REQUEST_H

#include "px_frame.h"
#include "px_python.h"

extern PyMethodDef px_request_methods[];

// px_request_read reads the JSON of a received frame, whose file is mapped as shared. In a request for a prediction,
// the inputs that use_arrays() named become arrays. GIL held. New reference, or NULL with an exception.
PyObject *px_request_read(const struct px_frame *f, struct px_shared shared);

#endif
