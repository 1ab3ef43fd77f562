// channel_send.c writes the frames of a channel.
#ifndef CHANNEL_SEND_H
#define CHANNEL_SEND_H

#include "channel_socket.h"

// All functions below: any thread. They release the GIL only if they say so.

// px_channel_put queues one frame; body is copied or sent. Only a body of more than PX_COPY_MAX can make the call wait
// for the front. 0, or -1 without memory or descriptors.
int px_channel_put(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos, const char *body, size_t len);

// px_channel_put_parts is px_channel_put with flags, of a body in parts[1] to parts[n - 1]; parts[0] is room for the
// header. It changes parts. When it returns, it no longer needs the bytes.
int px_channel_put_parts(struct px_channel *ch, uint8_t kind, uint8_t flags, uint64_t id, uint64_t nanos,
                         struct iovec *parts, int n);

// px_channel_put_fd sends a frame without a body, with a descriptor, which the caller keeps. It waits for the front if
// the socket is full. If the front is gone, it does nothing.
void px_channel_put_fd(struct px_channel *ch, uint8_t kind, uint64_t id, uint64_t nanos, int fd);

// px_channel_flush sends what is queued. With wait it waits for the front; the GIL must then not be held. It returns
// true if nothing is left, or the front has closed the channel.
bool px_channel_flush(struct px_channel *ch, bool wait);

// px_flush_with_gil sends what is queued, with the GIL held on entry and exit. It releases the GIL while it waits.
void px_flush_with_gil(struct px_channel *ch);

// px_channel_emit queues a frame that the front should read soon; channel_send.c says when it leaves. It returns as
// px_channel_put, 1 if so much is queued that the caller should call px_flush_with_gil, or 2 for the first frame that
// waits for the end of the loop's turn.
int px_channel_emit(struct px_channel *ch, uint8_t kind, uint64_t id, const char *body, size_t len);

// px_channel_end_turn sends what is queued, as far as the front takes it; the flusher sends the rest. The event loop.
void px_channel_end_turn(struct px_channel *ch);

// px_channel_backlog returns the number of bytes that are queued and not sent.
size_t px_channel_backlog(struct px_channel *ch);

// px_channel_flush_due is px_channel_flush without waiting. The flusher.
bool px_channel_flush_due(struct px_channel *ch);

#endif
