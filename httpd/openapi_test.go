package httpd

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pinion/tests/assert"
)

// TestOpenapi_DocumentDescribesEveryRoute: what the router has is in the document, and nothing else.
func TestOpenapi_DocumentDescribesEveryRoute(t *testing.T) {
	nothing := func(*fasthttp.RequestCtx) {}
	for name, o := range map[string]Options{
		"all": {
			Docs: nothing, Metrics: nothing, Shutdown: func() {}, Reload: func() (string, error) { return "", nil },
			DocsData: map[string]fasthttp.RequestHandler{"/docs/about": nothing, "/docs/examples/{file}": nothing},
		},
		"none": {},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.schema = []byte(`{"openapi":"3.0.2","info":{"title":"Cog"},"paths":{"/predictions":{"post":{}},"/trainings":{"post":{}}}}`)
			o.ModelName = "painter"
			s := serve(t, f, o)
			response := assert.Must(http.Get("http://" + s.addr + "/openapi.json"))(t)
			defer response.Body.Close()
			var document struct {
				Info  struct{ Title string }
				Paths map[string]map[string]any
			}
			assert.NoError(t, json.NewDecoder(response.Body).Decode(&document))
			assert.Equal(t, "the title", document.Info.Title, "painter")
			var described, served []string
			for path, operations := range document.Paths {
				for method := range operations {
					path := strings.NewReplacer("{prediction_id}", "{id}", "{training_id}", "{id}").Replace(path)
					described = append(described, strings.ToUpper(method)+" "+path)
				}
			}
			for method, paths := range s.routes().List() {
				if method == fasthttp.MethodHead { // GET without its body
					continue
				}
				for _, path := range paths {
					served = append(served, method+" "+path)
				}
			}
			slices.Sort(described)
			slices.Sort(served)
			assert.EqualSlices(t, "the document", described, served)
		})
	}
}
