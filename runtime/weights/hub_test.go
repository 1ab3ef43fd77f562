package weights

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/fakehub"
)

// TestHub: a repository is fetched at its commit, by its patterns, with a token that no other host sees. What this machine
// has is not fetched again, and is used without the hub.
func TestHub(t *testing.T) {
	t.Parallel()
	data := content(5 << 20)
	h := fakehub.New(t, map[string][]byte{
		"a.bin": data, "sub/b c.bin": data[:100], "config.json": []byte("{}"), "left.txt": []byte("left"), "empty": {},
	})
	h.Token = "secret-token"
	r := newRig(t)
	env := map[string]string{"HF_ENDPOINT": h.URL}
	r.env = func(name string) string { return env[name] }
	w := r.weight("base", "hf://org/repo")
	w.Sources[0].Exclude = []string{"*.txt"}
	err := r.fetch(w)
	failsWith(t, err, "401 Unauthorized: it does not exist, or is for others: HF_TOKEN")
	env["HUGGING_FACE_HUB_TOKEN"] = "secret-token"
	assert.NoError(t, r.fetch(w))
	for path, want := range h.Files {
		if path != "left.txt" {
			r.checkFile(want, "base", path)
		}
	}
	assert.False(t, isThere(filepath.Join(w.Target, "left.txt")), "a file that is excluded is there")
	assert.False(t, h.Leaked.Load(), "another host has got the token")
	assert.True(t, h.Sent.Load() < 6<<20, "%d bytes came", h.Sent.Load())

	sent := h.Sent.Load()
	pinned := r.weight("pinned", "huggingface://org/repo@"+fakehub.Commit)
	assert.NoError(t, r.fetch(pinned))
	r.checkFile([]byte("left"), "pinned", "left.txt")
	assert.True(t, h.Sent.Load() == sent+4, "%d bytes more came, want 4", h.Sent.Load()-sent)
	asked := h.Asked.Load()
	assert.NoError(t, r.fetch(pinned))
	assert.Equal(t, "requests for a commit that is there", h.Asked.Load(), asked)

	env["HF_HUB_OFFLINE"] = "1"
	assert.NoError(t, os.RemoveAll(w.Target))
	assert.NoError(t, r.fetch(w))
	r.checkFile(data, "base", "a.bin")
	assert.Equal(t, "requests offline", h.Asked.Load(), asked)
	failsWith(t, r.fetch(r.weight("more", "hf://org/other")), "HF_HUB_OFFLINE is set")
	assert.False(t, strings.Contains(r.logged(), "secret-token"), "the log has the token")
}

// TestHub_Lies: a hub whose files are others than its list says brings nothing to the target.
func TestHub_Lies(t *testing.T) {
	t.Parallel()
	data := content(3 << 20)
	h := fakehub.New(t, map[string][]byte{"a.bin": data, "b.bin": append([]byte{1}, data[1:]...), "c.bin": data[1:]})
	r := newRig(t)
	r.env = func(name string) string { return map[string]string{"HF_ENDPOINT": h.URL}[name] }
	w := r.weight("base", "hf://org/repo")
	w.Sources[0].Include = []string{"a.bin"}
	h.Wrong = "b.bin"
	failsWith(t, r.fetch(w), "hf://org/repo/a.bin has the wrong SHA-256: expected sha256:"+digest(data))
	h.Wrong = "c.bin"
	failsWith(t, r.fetch(w), "hf://org/repo/a.bin has the wrong size")
	assert.False(t, isThere(w.Target), "something is at the target")
	for path, want := range map[string]string{
		"../a": "leaves the folder", "/a": "leaves the folder", "a\nb": "control character", ".cog/ready": "markers",
	} {
		h.Files[path] = data
		w.Sources[0].Include = nil
		failsWith(t, r.fetch(w), want)
		delete(h.Files, path)
	}
}

// TestHub_SecondCache: what huggingface_hub has fetched is used, if it is right.
func TestHub_SecondCache(t *testing.T) {
	t.Parallel()
	data := content(2 << 20)
	h := fakehub.New(t, map[string][]byte{"a.bin": data, "config.json": []byte("{}")})
	r := newRig(t)
	env := map[string]string{"HF_ENDPOINT": h.URL, "HF_HOME": t.TempDir()}
	r.env = func(name string) string { return env[name] }
	repo := filepath.Join(env["HF_HOME"], "hub/models--org--repo")
	write := func(name string, data []byte) {
		at := filepath.Join(repo, name)
		assert.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		assert.NoError(t, os.WriteFile(at, data, 0o600))
	}
	blob := "blobs/" + digest(data)
	write(blob, data)
	assert.NoError(t, r.fetch(r.weight("base", "hf://org/repo")))
	r.checkFile(data, "base", "a.bin")
	assert.Equal(t, "bytes that came", h.Sent.Load(), int64(2))

	write(blob, append([]byte{data[0] + 1}, data[1:]...))
	other := newRig(t)
	other.env = r.env
	assert.NoError(t, other.fetch(other.weight("base", "hf://org/repo")))
	other.checkFile(data, "base", "a.bin")
	assert.Contains(t, "log", other.logged(), "is not used", "wrong SHA-256")
}
