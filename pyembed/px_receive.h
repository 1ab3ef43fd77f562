// px_receive.c makes a channel and reads its frames.
#ifndef PX_RECEIVE_H
#define PX_RECEIVE_H

#include "px_channel.h"

// px_channel_init makes a channel of a connected stream socket, which it then owns. Frames are queued in shared, if
// that is not NULL, so that the front gets them even if the worker is killed. 0, or -1 without memory. Any thread.
int px_channel_init(struct px_channel *ch, int fd, struct px_slot_page *page, struct px_out_page *shared);

// px_channel_fill reads once, and waits for bytes if wait is set. No GIL needed. > 0: bytes came; 0: the front has
// closed the channel; -1: see errno (EINTR; EAGAIN without wait; ENOMEM; EPROTO for what no front sends).
int px_channel_fill(struct px_channel *ch, bool wait);

// px_channel_next takes the next whole frame out of what was read. 1: *f is set, px_frame_done it; 0: none is whole
// yet; -1: as px_channel_fill.
int px_channel_next(struct px_channel *ch, struct px_frame *f);

// px_frame_close gives back what came beside the body: px_frame_done, for a frame that has such.
void px_frame_close(struct px_frame *f);

// px_frame_done ends the use of a frame.
static inline void px_frame_done(struct px_frame *f) {
  if (f->map || f->file >= 0) px_frame_close(f);
}

#endif
