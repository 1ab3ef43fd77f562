package workers

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// wholeTransformer prints what examples/ranks answers, computed by one process.
const wholeTransformer = `
import sys
from transformer import Transformer
model, words = Transformer(0, 1), [int(word) for word in sys.argv[1].split()]
for _ in range(int(sys.argv[2])):
    words.append(model.next_word(words))
print(" ".join(map(str, words[-int(sys.argv[2]):])))`

// TestRanks_TransformerAnswersAsOneProcess: with torch and gloo, over 2 ranks and over 8, also after a rank was killed
// and after cancels.
func TestRanks_TransformerAnswersAsOneProcess(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	for _, ranks := range []int{2, 8} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			t.Parallel()
			o := debianTorch(t, "Runner")
			o.Dir, o.Model = harness.Example(t, "ranks"), ""
			o.Env = append(o.Env, "GLOO_SOCKET_IFNAME=lo")
			o.Args = []string{"--ranks", fmt.Sprint(ranks), "--queue", "4"}
			text := harness.RunTool(t, o.Dir, o.Env, o.Python, "-c", wholeTransformer, "5 6 7", "30")
			s := harness.Ready(t, o)
			input := harness.Input{"prompt": "5 6 7", "count": 30}
			wantWords := func() {
				var words []string
				s.Succeed(input).Decode(t, &words)
				assert.Equal(t, "words", strings.TrimSpace(strings.Join(words, "")), strings.TrimSpace(text))
			}
			wantWords()
			before := rankPIDs(s)
			for n := range 5 {
				cancelRanks(t, s, "/predictions", fmt.Sprint("c", n), harness.Input{"count": 512})
			}
			assert.EqualSlices(t, "processes after cancels", rankPIDs(s), before)
			harness.SendSignal(t, before[ranks-1], syscall.SIGKILL)
			harness.WaitWorkers(t, s, 1, 1)
			wantWords()
		})
	}
}
