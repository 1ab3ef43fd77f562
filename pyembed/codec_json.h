// The JSON bridge as the rest of the worker uses it. codec_limits.h says what is read and written.
#ifndef CODEC_JSON_H
#define CODEC_JSON_H

#include "codec_key.h"
#include "codec_read.h"
#include "codec_text.h"
#include "codec_write.h"

#endif
