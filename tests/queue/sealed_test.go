package queue

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestSealed_JobsKey: neither inputs nor results are readable in the store, and members and commands with the key read
// them.
func TestSealed_JobsKey(t *testing.T) {
	t.Parallel()
	const word = "rumpelstilzchen"
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	harness.WriteFile(t, key, base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))+"\n")
	store := filepath.Join(dir, "jobs")
	s := harness.StartMember(t, "embed:"+store, harness.Options{Model: "echo.py:text", Args: []string{"--jobs-key", key}})
	hooks := harness.NewHookReceiver(t)
	body := map[string]any{
		"id": "p1", "input": map[string]any{"text": word}, "webhook": hooks.URL,
		"webhook_events_filter": []string{"completed"},
	}
	got := s.Create(body, "Prefer", "respond-async")
	assert.TrueNow(t, got.Code == http.StatusAccepted, "got %v, want Code 202", got)
	assert.Equal(t, "the output", harness.WaitStatus(t, s, "p1", "succeeded").Text(t), word)
	assert.Eventually(t, "its webhook came", func() bool { return len(hooks.Of("p1")) == 1 })
	assert.Equal(t, "the webhook has the output", string(hooks.Of("p1")[0].Output), `"`+word+`"`)
	show := []string{"jobs", "show", "p1", "--json", "--nats", "embed:" + store, "--model", "m"}
	assert.Contains(t, "with the key", (harness.CLI{}).Good(t, append(show, "--jobs-key", key)...), word)
	assert.NoError(t, filepath.WalkDir(store, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // NATS removes some meanwhile
		}
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), word) {
			t.Errorf(`%s has the word: got %.300q, want no "rumpelstilzchen" in it`, path, string(text))
		}
		return nil
	}))
	harness.WantRefused(t, harness.Options{
		Model: "fleet.py",
		Args:  []string{"--nats", "embed:" + t.TempDir(), "--model", "m", "--jobs-key", filepath.Join(dir, "none")},
	}, harness.AnyCode,
		"--jobs-key: open ")
}
