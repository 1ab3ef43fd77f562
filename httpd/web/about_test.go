package web

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// TestAbout_StaysInTheFolder: neither names nor links lead out of the folder, a pipe holds nothing up, and large files
// are left out.
func TestAbout_StaysInTheFolder(t *testing.T) {
	dir := t.TempDir()
	examples := filepath.Join(dir, examplesFolder)
	secret := filepath.Join(t.TempDir(), "secret.txt")
	for path, text := range map[string]string{
		secret: "secret", filepath.Join(dir, "readme.MD"): "# Fox", filepath.Join(dir, "run.py"): "secret",
		filepath.Join(examples, "a b.json"): "{}", filepath.Join(dir, "large.png"): strings.Repeat("x", maxLogo+1),
	} {
		assert.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	assert.NoError(t, os.Symlink(secret, filepath.Join(examples, "link.txt")))
	assert.NoError(t, unix.Mkfifo(filepath.Join(examples, "pipe.json"), 0o600))
	routes := PageData(PageOptions{Dir: dir, Logo: "large.png"})
	var ctx fasthttp.RequestCtx
	routes["/docs/about"](&ctx)
	assert.Equal(t, "body", string(ctx.Response.Body()), `{"readme":"# Fox","examples":["a b.json"]}`)
	for name, code := range map[string]int{
		"a b.json": 200, "a%20b.json": 200, "../run.py": 404, "..%2frun.py": 404, "..": 404, ".": 404, "": 404, "link.txt": 404,
		"pipe.json": 404, "none": 404, "%00": 404, secret: 404,
	} {
		var ctx fasthttp.RequestCtx
		ctx.SetUserValue("file", name)
		routes["/docs/examples/{file}"](&ctx)
		if got := ctx.Response.StatusCode(); got != code || bytes.Contains(ctx.Response.Body(), []byte("secret")) {
			t.Errorf("%q: got %d %s, want %d", name, got, ctx.Response.Body(), code)
		}
	}
}
