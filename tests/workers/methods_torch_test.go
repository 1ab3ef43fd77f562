package workers

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// generated prints what examples/generate says, computed without batches and without a cache: each token from all
// before it.
const generated = `
import json, sys
import torch
from transformer import Sequence, Transformer
torch.manual_seed(1)
model = Transformer().eval()
def whole(prompt, count):
    tokens = list(prompt)
    for _ in range(count):
        tokens += model.step([Sequence(list(tokens))])
    return tokens[len(prompt):]
print(json.dumps([whole(*case) for case in json.loads(sys.argv[1])]))`

// TestMethods_TorchGeneratesAsAlone: with sequences of many lengths in each step, every answer is that of generating it
// alone.
func TestMethods_TorchGeneratesAsAlone(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	o := debianTorch(t, "Runner")
	o.Dir = harness.Example(t, "generate")
	var cases [][2]any
	for n := range 24 {
		prompt := make([]int, 1+n*n%97)
		for i := range prompt {
			prompt[i] = (31*n + 7*i*i) % 512
		}
		cases = append(cases, [2]any{prompt, 5 + n%20})
	}
	text := assert.Must(json.Marshal(cases))(t)
	var want [][]int
	harness.FromJSON(t, harness.RunTool(t, o.Dir, o.Env, o.Python, "-c", generated, string(text)), &want)
	o.Args = []string{"--queue", "32"}
	s := harness.Ready(t, o)
	answers := make([]<-chan harness.Answer, len(cases))
	for n, c := range cases {
		answers[n] = s.Begin(fmt.Sprint("case-", n), harness.Input{"prompt": c[0], "max_tokens": c[1]})
	}
	for n := range cases {
		var got []int
		harness.Receive(t, answers[n]).Decode(t, &got)
		assert.True(t, slices.Equal(got, want[n]), "tokens of case %d: got %v, want %v", n, got, want[n])
	}
	for input, problem := range map[string]harness.Input{
		"a prompt of 1 to 480 tokens is expected": {"prompt": []int{}},
		"tokens are numbers from 0 to 511":        {"prompt": []int{512}},
	} {
		assert.Contains(t, "a bad prompt", s.Fail(problem).Error, input)
	}
}
