// serving_request.c reads the bodies of requests.
#ifndef SERVING_REQUEST_H
#define SERVING_REQUEST_H

#include "channel_frame.h"
#include "base_python.h"
#include "codec_shared.h"

extern PyMethodDef px_request_methods[];

// px_request_read reads the JSON of a received frame, whose file is mapped as shared. In a request for a prediction,
// the inputs that use_arrays() named become arrays. GIL held. New reference, or NULL with an exception.
PyObject *px_request_read(const struct px_frame *f, struct px_shared shared);

#endif
