package httpd

import (
	"net"
	"strings"
	"testing"

	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/tests/assert"
)

// TestChunkWriter_LargeBuffersAreCharged while a client does not read them, and are small again afterwards.
func TestChunkWriter_LargeBuffersAreCharged(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	budget := memory.New(64 << 20)
	w := chunkWriter{c: here, chunked: true, buf: make([]byte, chunkHead), memory: budget}
	w.buf = append(w.buf, strings.Repeat("l", 1<<20)...)
	written := make(chan error, 1)
	go func() { written <- w.flush() }()
	small := make([]byte, 1)
	if _, err := there.Read(small); err != nil { // the write has begun
		t.Fatal(err)
	}
	got := budget.Stats().Used
	assert.True(t, got >= 1<<20-bufferCost && got <= 2<<20, "got %d bytes charged, want about %d", got, 1<<20)
	there.Close()
	err := <-written
	assert.True(t, err != nil, "got no error of a write to a client that left, want one")
	w.close(transport.New(transport.Options{}))
	assert.Equal(t, "bytes charged after the end", budget.Stats().Used, 0)
}
