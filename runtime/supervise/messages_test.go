package supervise

import "testing"

func TestThreeDigits_OfSeconds(t *testing.T) {
	for seconds, want := range map[float64]float64{
		0: 0, 0.000000012345: 0.000000012, 0.0000057529: 0.00000575, 0.000042109: 0.0000421, 0.00012345: 0.000123,
		0.123456: 0.123, 4.5678: 4.57, 123.4: 123, 1234.5: 1235,
	} {
		if got := threeDigits(seconds); got != want {
			t.Errorf("threeDigits(%v): got %v, want %v", seconds, got, want)
		}
	}
}
