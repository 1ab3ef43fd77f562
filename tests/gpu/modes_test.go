package gpu

import (
	"fmt"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestThreads_ShareOneContext: four predictions at once cost one context, not four.
func TestThreads_ShareOneContext(t *testing.T) {
	base := usedMemory(t)
	single := start(t, "Model", harness.Options{Env: []string{"GPU_TEST_HOLD=4294967296"}})
	wantProduct(t, single, 512, 3)
	alone := usedMemory(t) - base
	single.Stop()
	assert.Eventually(t, "the memory is free", func() bool { return usedMemory(t) < base+alone/2 })

	s := start(t, "Threads", harness.Options{
		Args: []string{"--concurrency", "4", "--queue", "100"},
		Env:  []string{"GPU_TEST_HOLD=4294967296"},
	})
	var answers []<-chan harness.Answer
	for i := range 40 {
		what := []string{"multiply", "stream"}[i%2]
		answers = append(answers, s.Begin(fmt.Sprint("p", i), do(what, 512, float64(i))))
	}
	threads := map[string]bool{}
	for i, answer := range answers {
		a := harness.Receive(t, answer)
		harness.WantStatus(t, fmt.Sprint("prediction ", i), a, "succeeded")
		value, thread, _ := strings.Cut(a.Text(t), " ")
		assert.Equal(t, fmt.Sprint("the product of prediction ", i), value, fmt.Sprintf("%.1f", float64(i)*256))
		threads[thread] = true
	}
	assert.Equal(t, "threads", len(threads), 4)
	if four := usedMemory(t) - base; four > alone+1<<30 {
		t.Errorf("got %d MiB of four threads, want about the %d of one", four/mebibyte, alone/mebibyte)
	} else {
		t.Logf("GPU memory: one slot %d MiB, four threads %d MiB", alone/mebibyte, four/mebibyte)
	}
}

// TestThreads_CancelOfOne: the others go on.
func TestThreads_CancelOfOne(t *testing.T) {
	t.Parallel()
	s := start(t, "Threads", harness.Options{Args: []string{"--concurrency", "4", "--queue", "100"}})
	worker := s.Worker()
	loop := s.Begin("loop", do("loop", 1024, 1))
	s.WaitLog("computing")
	for range 8 {
		assert.Contains(t, "a product beside the loop", s.Succeed(do("multiply", 512, 2)).Text(t), "512.0 ")
	}
	s.Cancel("loop")
	harness.WantStatus(t, "the loop", harness.Receive(t, loop), "canceled")
	assert.Contains(t, "a product after the loop", s.Succeed(do("multiply", 512, 2)).Text(t), "512.0 ")
	assert.Equal(t, "the worker", s.Worker(), worker)
}

// TestPreload_ForksThatUseTheGPU: torch is imported once, CUDA starts in each fork.
func TestPreload_ForksThatUseTheGPU(t *testing.T) {
	t.Parallel()
	s := start(t, "Model", harness.Options{Args: []string{"--preload", "--workers", "2", "--queue", "10"}})
	for i := range 6 {
		wantProduct(t, s, 512, float64(i))
	}
	if h := s.Health(); h.Preload == nil || h.Preload.Forked < 2 {
		t.Errorf("got %+v of the preload process, want two forks", h.Preload)
	}
}

// TestWorkers_Auto: one for each GPU, which it sees alone.
func TestWorkers_Auto(t *testing.T) {
	t.Parallel()
	s := start(t, "Model", harness.Options{Args: []string{"--workers", "auto", "--gpus", "each"}})
	for i, w := range s.Health().Workers {
		if w.Device == "" {
			t.Errorf("got no device of worker %d, want some text", i)
		}
	}
	wantProduct(t, s, 512, 3)
}

// TestBatches_OneKernel: eight requests, few batches, right answers.
func TestBatches_OneKernel(t *testing.T) {
	t.Parallel()
	s := start(t, "Batches", harness.Options{Args: []string{"--queue", "100"}})
	var answers []<-chan harness.Answer
	for i := range 32 {
		answers = append(answers, s.Begin(fmt.Sprint("p", i), harness.Input{"factor": i}))
	}
	full := 0
	for i, answer := range answers {
		a := harness.Receive(t, answer)
		harness.WantStatus(t, fmt.Sprint("prediction ", i), a, "succeeded")
		value, size, _ := strings.Cut(a.Text(t), " of ")
		assert.Equal(t, fmt.Sprint("the product of prediction ", i), value, fmt.Sprintf("%.1f", float64(i)*128))
		if size == "8" {
			full++
		}
	}
	if full == 0 {
		t.Error("got no full batch, want some")
	}
}

// TestStreams_InOrder: values arrive as they were computed.
func TestStreams_InOrder(t *testing.T) {
	t.Parallel()
	s := start(t, "Tokens", harness.Options{})
	var got []string
	s.Succeed(harness.Input{"steps": 5}).Decode(t, &got)
	assert.Equal(t, "the products", strings.Join(got, ""), "0.0 256.0 512.0 768.0 1024.0 ")
}

// TestGenerate_StepsAreBatched: sequences that run at once share the steps of the GPU.
func TestGenerate_StepsAreBatched(t *testing.T) {
	t.Parallel()
	const together, tokens = 16, 64
	s := start(t, "", harness.Options{Dir: harness.Example(t, "generate"), Args: []string{"--queue", "64"}})
	var answers []<-chan harness.Answer
	for i := range together {
		answers = append(answers,
			s.Begin(fmt.Sprint("g", i), harness.Input{"prompt": []int{i, 2, 3}, "max_tokens": tokens}))
	}
	for i, answer := range answers {
		a := harness.Receive(t, answer)
		harness.WantStatus(t, fmt.Sprint("generation ", i), a, "succeeded")
		var got []int
		a.Decode(t, &got)
		assert.Equal(t, "tokens", len(got), tokens)
	}
	steps := harness.Scrape(t, s).Value("pinion_method_batch_size", "method", "decode")
	if alone := float64(together * (tokens - 1)); steps > alone/2 {
		t.Errorf("got %v steps for %v tokens, want at most half as many", steps, alone)
	}
}
