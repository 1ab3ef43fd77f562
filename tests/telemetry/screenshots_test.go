package telemetry

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const (
	pictures   = "../docs/images"
	maxPicture = 200_000 // bytes
)

// TestPictures_OfDocuments: the documents' pictures of the pages are small PNG files. PINION_TEST_PICTURES=1 takes them
// anew.
func TestPictures_OfDocuments(t *testing.T) {
	if os.Getenv("PINION_TEST_PICTURES") != "" {
		takePictures(t)
	}
	for name, width := range map[string]int{
		"dashboard.png": 1280, "page.png": 1280, "dashboard-phone.png": 390,
		"page-phone.png": 390, "calls.png": 710, "dashboard-stuck.png": 1232, "dashboard-tokens.png": 1232,
		"dashboard-models.png": 1232, "dashboard-log.png": 1232,
	} {
		content := assert.Must(os.ReadFile(filepath.Join(pictures, name)))(t)
		size, err := png.DecodeConfig(bytes.NewReader(content))
		assert.True(t, err == nil && size.Width == width && len(content) <= maxPicture,
			"%s: %d pixels wide, %d bytes, %v, want %d and at most %d bytes", name, size.Width, len(content), err, width,
			maxPicture)
	}
}

func takePictures(t *testing.T) {
	python := harness.Tool(t, "venvs/playwright/bin/python")
	chromium := harness.Tool(t, "", "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable",
		"google-chrome")
	assert.NoError(t, os.MkdirAll(pictures, 0o755))
	dir := filepath.Join(t.TempDir(), "painter") // the pages' title
	assert.NoError(t, os.CopyFS(dir, os.DirFS(harness.Models(t))))
	s := harness.Ready(t, harness.Options{
		Dir: dir, Model: "live.py:Painter", Args: []string{"--workers", "2", "--queue", "32"},
	})
	several := harness.Options{Python: harness.AnyPython(t).Path, Args: []string{"--queue", "256", "--reload"}}
	pipeline := harness.Example(t, "pipeline")
	for _, name := range []string{"rank", "decode", "embed"} {
		several.Models = append(several.Models, name+"="+filepath.Join(pipeline, name))
	}
	writer := filepath.Join(t.TempDir(), "writer")
	assert.NoError(t, os.CopyFS(writer, os.DirFS(harness.Models(t))))
	harness.WriteFile(t, filepath.Join(writer, "cog.yaml"), "run: live.py:Writer\n")
	several.Models = append(several.Models, "writer="+writer)
	second := harness.Start(t, several)
	harness.WaitModels(t, second)
	harness.RunTool(t, ".", nil, python, "-B", "browser/shot.py", chromium, s.Address, second.Address, pictures)
}
