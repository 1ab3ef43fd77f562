package docs

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestBodies_ModelOfBodiesDocumentKeepsPredictionsApart: it writes to each prediction's folder, so several workers do
// not write to one file, and a folder that is read-only will do.
func TestBodies_ModelOfBodiesDocumentKeepsPredictionsApart(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.ModelOf(t, "../docs/how-to/bodies.md"), Args: []string{"--workers", "2", "--queue", "20"},
	})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			content := bytes.Repeat([]byte(fmt.Sprintf("%d ", i)), 1000)
			var form bytes.Buffer
			w := multipart.NewWriter(&form)
			part, err := w.CreateFormFile("image", "photo.png")
			if err == nil {
				_, err = part.Write(content)
			}
			if err != nil || w.Close() != nil {
				t.Errorf("make the form: got %v, want no error", err)
				return
			}
			a := s.Do(http.MethodPost, "/predictions", form.Bytes(), "Content-Type", w.FormDataContentType(), "Accept",
				"image/*")
			assert.True(t, a.Code == http.StatusOK && bytes.Equal(a.Body, content),
				"prediction %d has another's file, or none: %d, want Code 200 and Body %q", i, a.Code, content)
		})
	}
	wg.Wait()
	entries := assert.Must(os.ReadDir(s.Dir))(t)
	for _, entry := range entries {
		assert.True(t, slices.Contains([]string{"run.py", "cog.yaml", "__pycache__"}, entry.Name()),
			"the model left %s in its folder, want nothing new there", entry.Name())
	}
}
