package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/model"
	"pinion/httpd"
	"pinion/httpd/instances"
	"pinion/httpd/openai"
	"pinion/httpd/openapi"
	"pinion/httpd/protocol"
	"pinion/tests/assert"
)

// TestProtocols_AreDocumented: each route of each protocol is in the OpenAPI document, and httpd/openapi/protocols.json
// has no other.
func TestProtocols_AreDocumented(t *testing.T) {
	var known struct {
		Paths map[string]map[string]json.RawMessage
	}
	text := assert.Must(os.ReadFile("../../../../httpd/openapi/protocols.json"))(t)
	assert.NoError(t, json.Unmarshal(text, &known))
	s := config.Protocols{
		Names: protocol.Names(), Vertex: instances.VertexPaths{Health: "/h", Predict: "/p"},
		Repository: struct{ instances.Repository }{}, // SageMaker adds and removes models
	}
	list := s.List(nil)
	for _, e := range openai.Endpoints() {
		document := fmt.Appendf(nil, `{"paths":{"/predictions":{"post":{"x-cog-openai":%q}}}}`, e)
		whole, err := openapi.Complete(document, openapi.Server{Routes: httpd.DocumentRoutes(list, document)})
		assert.NoError(t, err)
		var shown struct {
			Paths map[string]map[string]json.RawMessage
		}
		assert.NoError(t, json.Unmarshal(whole, &shown))
		for _, p := range list {
			for _, r := range p.Routes {
				_, ok := shown.Paths[r.Path][strings.ToLower(r.Method)]
				want := r.For == nil || r.For(document)
				assert.True(t, ok == want, "a model for %s: the document has %s %s: %t, want %t", e, r.Method, r.Path, ok, want)
				if as := r.Document; as != "" {
					delete(known.Paths, as)
				} else if ok {
					delete(known.Paths, r.Path)
				}
			}
		}
		assert.True(t, shown.Paths[e.Path()] != nil, "a model for %s: the document lacks %s", e, e.Path())
	}
	for path := range known.Paths {
		t.Errorf("protocols.json has %s, want only routes of the server", path)
	}
}

// TestProtocols_SchemaHasProtocols: "pinion schema" prints what the server answers, without OpenAI's endpoints of other
// functions.
func TestProtocols_SchemaHasProtocols(t *testing.T) {
	document := []byte(`{"paths":{"/predictions":{"post":{"x-cog-openai":"chat"}}}}`)
	paths := map[string]bool{}
	for _, r := range served(&model.Model{}, document).Routes {
		paths[r.Path] = true
	}
	if !paths["/v1/chat/completions"] || paths["/v1/embeddings"] || !paths["/v2/models/{model}/infer"] ||
		!paths["/invocations"] {
		t.Errorf("got the paths %v, want those of chat and SageMaker, and none of embeddings", paths)
	}
}
