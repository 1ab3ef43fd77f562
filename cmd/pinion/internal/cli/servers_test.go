package cli

import (
	"strings"
	"testing"
	"time"

	"pinion/cmd/pinion/internal/process"
)

// TestServers_GatewayHasNoFolder, with any number of models.
func TestServers_GatewayHasNoFolder(t *testing.T) {
	var out strings.Builder
	rows := []serverRow{{ServerInfo: process.ServerInfo{Models: []process.ModelInfo{{Name: "a"}, {Name: "b"}}}}}
	if err := printServers(&out, rows, time.Now()); err != nil {
		t.Fatal(err)
	}
	line := strings.Split(strings.TrimSpace(out.String()), "\n")[1]
	if !strings.HasSuffix(line, "  -") {
		t.Errorf("got %q, want the models and no folder", line)
	}
}
