package store_test

import (
	"strings"
	"testing"

	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

func TestName_QueueName(t *testing.T) {
	seen := map[string]string{}
	for _, model := range []string{
		"ocr", "a_b", "A-9", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 65), "a.b", "a/b", "a:b",
		"meta-llama/Llama-3.1-8B-Instruct", "ä", "*", ">", " ", "",
	} {
		queue := state.QueueName(model)
		err := state.CheckModel(queue)
		assert.True(t, err == nil, "%q: got %q, %v, want no error", model, queue, err)
		assert.True(t, state.IsPlain(model, 63) == (queue == model), "got the queue %q of %q, want %t", queue, model, queue == model)
		other, used := seen[queue]
		assert.False(t, used, "got the queue %q for %q and %q: used = true, want false", queue, model, other)
		seen[queue] = model
	}
	if got, want := state.QueueName("a.b"), "a_b-26fd1b2e8e3d3a8f"; !strings.HasPrefix(got, "a_b-") || len(got) != len(want) {
		t.Errorf("got %q, want one like %q", got, want)
	}
}
