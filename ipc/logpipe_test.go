package ipc

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// TestLogpipe_LogPipeIsHandedOver, once, and closed if it is not taken.
func TestLogpipe_LogPipeIsHandedOver(t *testing.T) {
	noLeak(t)
	var c *Conn
	fd := rawEnd(t, &c)
	defer unix.Close(fd)
	for _, isTaken := range []bool{true, false} {
		ours, theirs, err := os.Pipe()
		assert.NoError(t, err)
		writeAll(t, fd, AppendHeader(nil, KindLogPipe, FlagFile, 64, 0, 0), int(ours.Fd()))
		ours.Close()
		got := -1
		assert.NoError(t, c.Recv(func(f *Frame) {
			if isTaken {
				got = f.Descriptor()
				assert.Equal(t, fmt.Sprintf("the descriptor was handed over twice, as %d", got), f.Descriptor(), -1)
			}
		}))
		if isTaken {
			unix.Close(got)
		}
		_, err = theirs.WriteString("x")
		assert.True(t, err != nil, "the read end is open still")
		theirs.Close()
	}
}
