// channel_receive.c makes a channel and reads its frames.
#ifndef CHANNEL_RECEIVE_H
#define CHANNEL_RECEIVE_H

#include "channel_socket.h"

// px_channel_init makes a channel of a connected stream socket, which it then owns. If shared is not NULL, frames are
// queued there, so that the front gets them even if the worker is killed. Any thread. 0, or -1 without memory.
int px_channel_init(struct px_channel *ch, int fd, struct px_slot_page *page, struct px_out_page *shared);

// px_channel_share makes a channel that uses the socket of another. Any thread.
void px_channel_share(struct px_channel *ch, struct px_channel *wire, struct px_slot_page *page);

// px_channel_fill reads once, and waits for bytes if wait is set. The thread that reads this channel; no GIL needed. It
// returns a positive number if bytes came, 0 if the front has closed the channel, or -1 with errno: EINTR, EAGAIN
// without wait, ENOMEM, or EPROTO if the bytes violate the protocol.
int px_channel_fill(struct px_channel *ch, bool wait);

// px_channel_next takes the next whole frame from the bytes that were read. It returns 1 with *f, which the caller ends
// with px_frame_done; 0 if no frame is whole yet; or -1 as px_channel_fill. The same thread; no GIL needed.
int px_channel_next(struct px_channel *ch, struct px_frame *f);

// px_frame_close does the work of px_frame_done for a frame with a mapping or a file.
void px_frame_close(struct px_frame *f);

// px_frame_done releases a frame's mapping and file; f->body is invalid afterwards. No GIL needed.
static inline void px_frame_done(struct px_frame *f) {
  if (f->map || f->file >= 0) px_frame_close(f);
}

#endif
