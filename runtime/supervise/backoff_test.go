package supervise

import (
	"testing"
	"time"

	"pinion/tests/assert"
)

// TestBackoff_Pauses walks the rule for workers that die.
func TestBackoff_Pauses(t *testing.T) {
	type death struct {
		after  time.Duration // since the one before
		served bool
		delay  time.Duration
		again  bool
	}
	second := time.Second
	for name, deaths := range map[string][]death{
		"the fifth within a minute ends it": {
			{0, false, 0, true},
			{second, false, second, true},
			{second, false, 2 * second, true},
			{second, false, 4 * second, true},
			{second, false, 0, false},
		},
		"a success in between starts over": {
			{0, false, 0, true}, {second, false, second, true}, {second, true, 0, true}, {second, false, second, true},
		},
		"slow deaths go on, ever more slowly": {
			{0, false, 0, true},
			{50 * second, false, second, true},
			{50 * second, false, 2 * second, true},
			{50 * second, false, 4 * second, true},
			{50 * second, false, 8 * second, true},
			{50 * second, false, 16 * second, true},
			{50 * second, false, 30 * second, true},
			{50 * second, false, 30 * second, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b backoff
			now := time.Unix(1e9, 0)
			for i, d := range deaths {
				now = now.Add(d.after)
				delay, again := b.died(now, d.served)
				assert.TrueNow(t, delay == d.delay && again == d.again, "death %d: %v, %v, want %v, %v", i+1, delay, again, d.delay, d.again)
			}
		})
	}
}
