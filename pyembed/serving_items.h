// serving_items.c gives the model the items of its streamed input.
#ifndef SERVING_ITEMS_H
#define SERVING_ITEMS_H

#include "channel_socket.h"
#include "base_python.h"

// px_item_read makes (id, what, value, bytes) of a PX_ITEM or PX_ITEMS_END frame. what is -1 for the value of JSON, -2 for
// bytes, -3 for the end, whose value is a text if the input is broken and else None. GIL held. NULL with an exception.
PyObject *px_item_read(const struct px_frame *f);

// px_items_close ends the streamed input of a channel: threads that the prediction has left behind get no more of it.
// The thread that reads the channel, GIL held.
void px_items_close(struct px_channel *ch);

extern PyMethodDef px_item_methods[];

#endif
