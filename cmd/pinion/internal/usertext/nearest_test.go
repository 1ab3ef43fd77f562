package usertext

import "testing"

func TestWord(t *testing.T) {
	words := []string{"predict", "train", "run"}
	for given, want := range map[string]string{"predcit": "predict", "trian": "train", "build": "", "runn": "run"} {
		if got := Nearest(given, words); got != want {
			t.Errorf("nearest to %q is %q, want %q", given, got, want)
		}
	}
}
