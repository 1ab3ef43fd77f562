package protocols

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// binaryTensor is a request with n numbers from first on in binary, and the length of its JSON.
func binaryTensor(n int, first float32, do string) (body []byte, head string) {
	text := fmt.Appendf(nil, `{"inputs":[{"name":"x","datatype":"FP32","shape":[%d],"parameters":{"binary_data_size":%d}}`,
		n, 4*n)
	if do != "" {
		text = fmt.Appendf(text, `,{"name":"do","datatype":"BYTES","shape":[1],"data":[%q]}`, do)
	}
	text = append(text, `],"parameters":{"binary_data_output":true}}`...)
	return append(text, numbers(n, func(i int) float32 { return first + float32(i%1000) })...), strconv.Itoa(len(text))
}

func numbers(n int, of func(i int) float32) []byte {
	raw := make([]byte, 0, 4*n)
	for i := range n {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(of(i)))
	}
	return raw
}

// TestOipShared_TensorsBySharedMemory: large tensors pass no socket. Requests follow one another in the same memory,
// and none sees or changes another's array: not one that the model keeps, nor after a client that has left or a worker
// that has crashed.
func TestOipShared_TensorsBySharedMemory(t *testing.T) {
	t.Parallel()
	s := tensors(t, "Keeper", "--workers", "1", "--queue", "64", "--max-body", "67108864")
	const path = "/v2/models/keeper/infer"
	ask := func(n int, first float32) {
		body, head := binaryTensor(n, first, "")
		a := s.Do(http.MethodPost, path, body, "Inference-Header-Content-Length", head)
		want := numbers(n, func(i int) float32 { return 2 * (first + float32(i%1000) + 1) })
		assert.True(t, a.Code == http.StatusOK && bytes.HasSuffix(a.Body, want),
			"%d numbers from %g on: %d %.300s, want Code 200 and Body ending in %q", n, first, a.Code,
			a.Body[:min(300, len(a.Body))], want)
	}
	regions := func() {
		var clients sync.WaitGroup
		for client := range 6 {
			clients.Go(func() {
				for round, n := range []int{250_000, 10, 20_000, 250_000, 4_100_000, 16_384, 250_000} {
					ask(n, float32(100*client+round))
				}
			})
		}
		clients.Wait()
	}
	regions()
	assert.Contains(t, "the worker's memory", harness.Maps(t, s.Worker()), "pinion-tensors")

	leave, left := context.WithCancel(t.Context())
	body, head := binaryTensor(250_000, 7, "wait")
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.DoContext(leave, http.MethodPost, path, body, "Inference-Header-Content-Length", head)
	}()
	s.WaitLog("waiting")
	left()
	<-done
	regions()

	body, head = binaryTensor(250_000, 8, "crash")
	harness.WantCode(t, "after a crash", s.Do(http.MethodPost, path, body, "Inference-Header-Content-Length", head),
		http.StatusInternalServerError)
	s.WaitHealth("READY")
	regions()
}

// TestOipShared_OtherModelsShareMemory: async and batched models read their arrays from shared memory, and answer by
// the socket.
func TestOipShared_OtherModelsShareMemory(t *testing.T) {
	t.Parallel()
	for class, add := range map[string]float32{"Raw": 0, "Batched": 1} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			s := tensors(t, class, "--queue", "16")
			var clients sync.WaitGroup
			for client := range 4 {
				clients.Go(func() {
					for round := range 5 {
						first := float32(10*client + round)
						body, head := binaryTensor(50_000, first, "")
						a := s.Do(http.MethodPost, "/v2/models/"+strings.ToLower(class)+"/infer", body, "Inference-Header-Content-Length",
							head)
						if want := numbers(50_000,
							func(i int) float32 { return first + float32(i%1000) + add }); a.Code != http.StatusOK ||
							!bytes.HasSuffix(a.Body, want) {
							t.Errorf("from %g on: %d %.300s, want Code 200 and Body ending in %q", first, a.Code,
								a.Body[:min(300, len(a.Body))], want)
						}
					}
				})
			}
			clients.Wait()
		})
	}
}
