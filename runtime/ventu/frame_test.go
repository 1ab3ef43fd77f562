package ventu

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"testing"

	"pinion/tests/assert"
)

// TestFrame_Encode holds what is written to another library's reading of it, at every size at which a header changes.
func TestFrame_Encode(t *testing.T) {
	many := func(n, size int) (bodies [][]byte) {
		for i := range n {
			bodies = append(bodies, bytes.Repeat([]byte{byte(i)}, size))
		}
		return bodies
	}
	for _, bodies := range [][][]byte{
		many(1, 1), many(1, 255), many(1, 256), many(1, 65535), many(1, 65536), many(1, 100_000),
		many(15, 3), many(16, 3), many(300, 1000), many(4096, 1), many(9, 20_000),
		{
			make([]byte, 9000), []byte("small"), make([]byte, 90_000), []byte("between"), make([]byte, 8192), make([]byte, 8193),
		},
	} {
		jobs := make([]*Job, len(bodies))
		for i, body := range bodies {
			jobs[i] = &Job{id: newID(), body: body}
		}
		buffers, size := encode(jobs)
		message := bytes.Join(buffers, nil)
		if len(message) != size || int(binary.BigEndian.Uint32(message)) != size-lengthSize {
			t.Fatalf("%d bodies: %d bytes, said to be %d, length field %d, want len(message) %d bytes and Uint32 %d",
				len(bodies), len(message), size, binary.BigEndian.Uint32(message), size, size-lengthSize)
		}
		assert.False(t, size <= oneBuffer && len(buffers) != 1,
			"%d bodies of %d bytes together come in %d buffers, want 1", len(bodies), size, len(buffers))
		items, err := parse(message[lengthSize:])
		assert.TrueNow(t, err == nil && len(items) == len(jobs),
			"%d bodies: %d items, %v, want %d", len(bodies), len(items), err, len(jobs))
		for i, it := range items {
			assert.True(t, it.id == string(jobs[i].id[:]) && it.body == string(jobs[i].body),
				"%d bodies: got item %q with %d bytes, want job %d as it was", len(bodies), it.id, len(it.body), i)
		}
	}
}

func TestFrame_IDs(t *testing.T) {
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[id]bool{}
	for range 1000 {
		v := newID()
		if !uuid.Match(v[:]) || seen[v] {
			t.Fatalf("%s is not a new UUID, want v a match of %s and seen[v] false", v[:], uuid)
		}
		seen[v] = true
	}
}
