package ipc

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// TestShared_Tensors: large tensors that lie in a request's file stay there; what else lies there is copied before the
// frame is queued, because the file may be another request's before a frame that no worker reads is written.
func TestShared_Tensors(t *testing.T) {
	noLeak(t)
	var c *Conn
	fd := rawEnd(t, &c)
	defer unix.Close(fd)
	file := &SharedFile{FD: memoryFile(t, []byte("x")), Data: make([]byte, 1<<20), Room: 1 << 19}
	defer unix.Close(file.FD)
	large, small := file.Data[100:100+sharedLeast], file.Data[200_000:200_000+8<<10]
	copy(small, "small")
	heap := filled(sharedLeast, 1)
	head := func(data []byte) []byte { return AppendTensorHead(nil, 'B', []int64{int64(len(data))}, len(data)) }
	parts := [][]byte{
		[]byte(`{"a":`), head(large), large, []byte(`,"b":`), head(small), small, []byte(`,"c":`),
		head(heap), heap, []byte(`}`),
	}
	assert.NoError(t, c.QueuePredict(64, 0, nil, file, nil, nil, nil, parts...))
	copy(small, "reused")
	go func() { _ = c.Flush() }()
	moved := head(large)
	moved[2] |= elsewhere
	body := bytes.Join([][]byte{
		[]byte(`{"input":{"a":`), moved, binary.LittleEndian.AppendUint64(nil, 100),
		[]byte(`,"b":`), head(small),
		append([]byte("small"), make([]byte, len(small)-5)...), []byte(`,"c":`), head(heap), heap, []byte(`}}`),
	}, nil)
	want := wire(KindPredict, FlagFile, 64, 1<<19, body)
	got := readAll(t, fd, len(want))
	assert.True(t, bytes.Equal(got, want), "sent %d bytes: %.200q, want %.200q", len(got), got, want)
	assert.Equal(t, "the caller's parts, which may be sent again", parts[1][2]&elsewhere, 0)
}

// TestShared_Answer: a worker's tensor lies in its request's file, in the room or where an input was, or it is refused.
func TestShared_Answer(t *testing.T) {
	file := &SharedFile{Data: filled(1000, 3), Room: 500}
	answer := func(at, size uint64) []byte {
		head := AppendTensorHead([]byte(`{"output":`), 'B', []int64{int64(size)}, int(size))
		head[len(`{"output":`)+2] |= elsewhere
		return append(binary.LittleEndian.AppendUint64(head, at), '}')
	}
	before, tensor, after, ok := CutTensor(answer(600, 100), file)
	if !ok || string(before) != `{"output":` || !bytes.Equal(tensor.Data, file.Data[600:700]) || string(after) != "}" {
		t.Errorf("got %q %v %q %v, want the tensor between the two halves of its body", before, tensor, after, ok)
	}
	if _, tensor, _, ok := CutTensor(answer(100, 200), file); !ok || !bytes.Equal(tensor.Data, file.Data[100:300]) {
		t.Errorf("an input that is answered: got %v %v, want its bytes 100 to 300", tensor, ok)
	}
	for name, bad := range map[string]struct {
		body []byte
		file *SharedFile
	}{
		"beyond its end":    {answer(950, 51), file},
		"far beyond":        {answer(1<<63, 1), file},
		"larger":            {answer(600, 1<<62), file},
		"without an offset": {answer(600, 100)[:30], file},
		"without a file":    {answer(600, 100), nil},
	} {
		_, _, _, ok := CutTensor(bad.body, bad.file)
		assert.False(t, ok, "%s: taken", name)
	}
}
