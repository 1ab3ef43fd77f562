package supervise

import (
	"fmt"
	"testing"

	"pinion/tests/assert"
)

func TestThreeDigits_OfSeconds(t *testing.T) {
	for seconds, want := range map[float64]float64{
		0: 0, 0.000000012345: 0.000000012, 0.0000057529: 0.00000575, 0.000042109: 0.0000421, 0.00012345: 0.000123,
		0.123456: 0.123, 4.5678: 4.57, 123.4: 123, 1234.5: 1235,
	} {
		assert.Equal(t, fmt.Sprintf("threeDigits(%v", seconds), threeDigits(seconds), want)
	}
}
