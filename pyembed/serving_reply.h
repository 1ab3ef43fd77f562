// serving_reply.c makes and queues the answer that ends a prediction.
#ifndef SERVING_REPLY_H
#define SERVING_REPLY_H

#include <stdint.h>

#include "channel_socket.h"
#include "base_mem.h"
#include "base_python.h"

// px_reply queues the answer that ends a prediction. Main thread, GIL held.
//
// value is the output or px_w.yielded for PX_SUCCEEDED, the error's text (str) for PX_FAILED, else NULL. encode
// replaces objects that are not JSON. metrics is the model's dict, None or NULL. An output that cannot be encoded or
// sent becomes a failure, whose text fail makes; a failure leaves out metrics that cannot be encoded. 0, or -1 with an
// exception if there is no memory for a failure either.
int px_reply(struct px_channel *ch, uint8_t kind, uint64_t id, PyObject *value, uint64_t nanos, PyObject *metrics,
             PyObject *encode, PyObject *fail);

// px_build_answer makes the body of an answer in b. *kind becomes PX_FAILED if the output cannot be encoded.
// px_begin_answer and px_end_answer make its two parts; the first is the same for all answers with the same metrics.
// px_build_failure makes a failure of the exception that is set; a failure or cancellation keeps its kind, and loses
// its metrics, which caused the exception. px_put_answer queues the body. All: GIL held, any thread that owns b. 0, or
// -1 with an exception.
int px_build_answer(struct px_buf *b, uint8_t *kind, PyObject *value, uint64_t nanos, PyObject *metrics,
                    PyObject *encode, PyObject *fail);
int px_begin_answer(struct px_buf *b, uint64_t nanos, PyObject *metrics, PyObject *encode);
int px_end_answer(struct px_buf *b, uint8_t kind, PyObject *value, PyObject *encode);
int px_build_failure(struct px_buf *b, uint8_t *kind, PyObject *value, uint64_t nanos, PyObject *metrics,
                     PyObject *encode, PyObject *fail);
int px_put_answer(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos, const struct px_buf *b);

// px_failure takes the exception that is set, and returns the error's text: fail(exception), or another text if fail
// raises. GIL held. New reference, or NULL with an exception without memory.
PyObject *px_failure(PyObject *fail);

#endif
