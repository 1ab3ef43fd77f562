package harness

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"pinion/tests/assert"
)

// Manifest is a YAML document, as the deploy folder has them.
type Manifest map[string]any

// At returns what stands at a path in it: names of members, and numbers of items.
func (d Manifest) At(t *testing.T, path ...any) any {
	t.Helper()
	var v any = map[string]any(d)
	for _, step := range path {
		switch at := v.(type) {
		case map[string]any:
			v = at[fmt.Sprint(step)]
		case []any:
			if i, ok := step.(int); ok && i < len(at) {
				v = at[i]
				continue
			}
			v = nil
		default:
			v = nil
		}
		assert.TrueNow(t, v != nil, "there is no %v", path)
	}
	return v
}

// Text returns what At finds, as text.
func (d Manifest) Text(t *testing.T, path ...any) string {
	t.Helper()
	return fmt.Sprint(d.At(t, path...))
}

// Texts returns the items of a list that At finds, as texts.
func (d Manifest) Texts(t *testing.T, path ...any) (list []string) {
	t.Helper()
	items, ok := d.At(t, path...).([]any)
	assert.TrueNow(t, ok, "%v is not a list", path)
	for _, item := range items {
		list = append(list, fmt.Sprint(item))
	}
	return list
}

// ReadManifests reads the documents of a YAML file.
func ReadManifests(t *testing.T, file string) (manifests []Manifest) {
	t.Helper()
	text := ReadFile(t, file)
	for part := range strings.SplitSeq(text, "\n---\n") {
		var d map[string]any
		assert.NoError(t, yaml.Unmarshal([]byte(part), &d), file)
		manifests = append(manifests, d)
	}
	return manifests
}

// ObservabilityFolder has the files for Prometheus, Grafana and a collector.
const ObservabilityFolder = "../deploy/observability"

// Promtool runs Prometheus' tool in deploy/observability.
func Promtool(t *testing.T, input []byte, args ...string) {
	t.Helper()
	tool := Tool(t, "prometheus/usr/bin/promtool", "promtool")
	cmd := exec.Command(tool, args...)
	cmd.Dir, cmd.Stdin = ObservabilityFolder, bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	assert.True(t, err == nil, "promtool %q: got %v, want no error\n%s", args, err, out)
}
