package answers

import (
	"net"
	"strings"
	"testing"

	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/tests/assert"
)

// TestChunks_LargeBuffersAreCharged while a client does not read them, and are small again afterwards.
func TestChunks_LargeBuffersAreCharged(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	budget := memory.New(64 << 20)
	w := Chunks{
		Buf: make([]byte, ChunkHead), out: &Writer{Memory: budget, Transport: transport.New(transport.Options{})},
		c: here, chunked: true,
	}
	w.Buf = append(w.Buf, strings.Repeat("l", 1<<20)...)
	written := make(chan error, 1)
	go func() { written <- w.Flush() }()
	small := make([]byte, 1)
	if _, err := there.Read(small); err != nil { // the write has begun
		t.Fatal(err)
	}
	got := budget.Stats().Used
	assert.True(t, got >= 1<<20-BufferCost && got <= 2<<20, "got %d bytes charged, want about %d", got, 1<<20)
	there.Close()
	err := <-written
	assert.True(t, err != nil, "got no error of a write to a client that left, want one")
	w.End()
	assert.Equal(t, "bytes charged after the end", budget.Stats().Used, 0)
}
