"""The kinds of frames; `ipc/frame.go` says what each holds, and a test compares the two."""

SUCCEEDED = 16
FAILED = 17
CANCELED = 18
OUTPUT = 22
METRIC = 23

HELLO = 32
LOADED = 33
READY = 34
SETUP_FAILED = 35
HEALTHY = 37

# Flags of a request.
EVENTS = 2
TRAIN = 4
