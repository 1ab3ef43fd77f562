package service

import (
	"os"
	"testing"

	"pinion/tests/fakeworker"
)

func TestMain(m *testing.M) {
	fakeworker.Main()
	os.Exit(m.Run())
}
