package protocols

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestThreads_TensorsOfManyClients: binary tensors of all sizes, in shared memory too, keep to their own prediction.
func TestThreads_TensorsOfManyClients(t *testing.T) {
	t.Parallel()
	s := tensors(t, "Keeper", "--concurrency", "4", "--queue", "64", "--max-body", "67108864")
	var clients sync.WaitGroup
	for client := range 8 {
		clients.Go(func() {
			for round, n := range []int{250_000, 10, 20_000, 250_000, 1_100_000, 16_384, 250_000} {
				first := float32(100*client + round)
				body, head := binaryTensor(n, first, "")
				a := s.Do(http.MethodPost, "/v2/models/keeper/infer", body, "Inference-Header-Content-Length", head)
				want := numbers(n, func(i int) float32 { return 2 * (first + float32(i%1000) + 1) })
				assert.True(t, a.Code == http.StatusOK && bytes.HasSuffix(a.Body, want),
					"%d numbers from %g on: got %d %.300s, want 200 and twice each number plus one", n, first, a.Code,
					a.Body[:min(300, len(a.Body))])
			}
		})
	}
	clients.Wait()
}

func TestThreads_ChatsAtOnce(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Model: "generative.py:Chat", Args: []string{"--concurrency", "4", "--queue", "64", "--model", "m"},
	})
	var clients sync.WaitGroup
	for client := range 8 {
		clients.Go(func() {
			word := fmt.Sprint("word", client)
			a := s.Do(http.MethodPost, "/v1/chat/completions", map[string]any{
				"model": "m", "messages": []any{map[string]any{"role": "user", "content": word}},
			})
			harness.WantCode(t, word, a, http.StatusOK)
			assert.Contains(t, word, string(a.Body), word)
		})
	}
	clients.Wait()
}
