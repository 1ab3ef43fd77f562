"""The kinds of frames; `ipc/frame.go` says what each holds, and a test compares the two."""

SUCCEEDED = 16
FAILED = 17
CANCELED = 18

HELLO = 32
LOADED = 33
READY = 34
SETUP_FAILED = 35
