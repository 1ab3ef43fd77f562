"""The kinds of frames; `ipc/kind.go` says what each holds, and a test compares the two."""

PREDICT = 1
BATCH = 2
DROP = 3

SUCCEEDED = 16
FAILED = 17
CANCELED = 18
STARTED = 21
OUTPUT = 22
METRIC = 23
PREPARED = 24
BATCH_DONE = 25
TRACED = 28
CALLS = 29

HELLO = 32
LOADED = 33
READY = 34
SETUP_FAILED = 35
HEALTHY = 37
PRELOADED = 39

CALL = 56  # on the socket of a call

# Flags of a request.
EVENTS = 2
TRAIN = 4
BATCH_ITEM = 8
TRACE = 16
