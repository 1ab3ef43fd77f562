package cli

import (
	"strings"
	"testing"
	"time"

	"pinion/cmd/pinion/internal/process"
	"pinion/tests/assert"
)

// TestServers_GatewayHasNoFolder, with any number of models.
func TestServers_GatewayHasNoFolder(t *testing.T) {
	var out strings.Builder
	rows := []serverRow{{ServerInfo: process.ServerInfo{Models: []process.ModelInfo{{Name: "a"}, {Name: "b"}}}}}
	assert.NoError(t, printServers(&out, rows, time.Now()))
	line := strings.Split(strings.TrimSpace(out.String()), "\n")[1]
	assert.True(t, strings.HasSuffix(line, "  -"), "got %q, want the models and no folder", line)
}
