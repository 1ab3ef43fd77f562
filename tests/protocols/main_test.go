package protocols

import (
	"os"
	"testing"

	"pinion/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, "..")) }
