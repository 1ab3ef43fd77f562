package docs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestAgents_ConversationOfDocument runs the agent of docs/how-to/agents.md with its two models. A stub plays the language
// model: it says what to call next by what it was told last.
func TestAgents_ConversationOfDocument(t *testing.T) {
	t.Parallel()
	const document = "../docs/how-to/agents.md"
	python := harness.Tool(t, "venvs/protocols/bin/python")
	var models []string
	for _, name := range []string{"colour", "paint"} {
		code := regexp.MustCompile(`(?m)^    # ` + name + `/run\.py\n((?:(?:    .*)?\n)+)`).FindStringSubmatch(harness.ReadFile(t, document))
		assert.TrueNow(t, code != nil, "%s has no %s/run.py, want its code", document, name)
		source := regexp.MustCompile(`(?m)^    `).ReplaceAllString(code[1], "")
		models = append(models, name+"="+harness.NewFolder(t, "run.py", source, "cog.yaml", "run: run.py:Runner\n"))
	}
	s := harness.Start(t, harness.Options{Models: models, Python: harness.AnyPython(t).Path})
	harness.WaitModels(t, s)
	stub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Messages []struct{ Content string }
			Tools    []struct {
				Function struct {
					Name, Description string
					Parameters        struct{ Type string }
				}
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Messages) == 0 {
			t.Errorf("got %v, want a chat", err)
		}
		var tools []string
		for _, tool := range asked.Tools {
			tools = append(tools, fmt.Sprint(tool.Function.Name, ": ", tool.Function.Description, " ", tool.Function.Parameters.Type))
		}
		want := []string{"colour: Tells the colour of a thing, as #RRGGBB. object", "paint: Paints a square of one colour, a PNG. object"}
		if !slices.Equal(tools, want) {
			t.Errorf("the agent offers %q, want %q", tools, want)
		}
		call := func(tool, arguments string) string {
			return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":%q,"arguments":%q}}]}`,
				len(asked.Messages), tool, arguments)
		}
		said := `{"role":"assistant","content":"I cannot do that."}`
		switch last := asked.Messages[len(asked.Messages)-1].Content; {
		case strings.HasPrefix(last, "Paint"):
			said = call("colour", `{"thing": "lemon"}`)
		case last == "#fff44f":
			said = call("paint", `{"colour": "yellow"}`)
		case strings.Contains(last, "does not match"):
			said = call("paint", `{"colour": "#fff44f"}`)
		case last == "image/png":
			said = `{"role":"assistant","content":"The square has the colour #fff44f."}`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"1","object":"chat.completion","created":1,"model":"any","choices":[{"index":0,"finish_reason":"stop","message":%s}]}`, said)
	}))
	defer stub.Close()
	harness.RunProgram(t, document, "# agent.py", python, "http://localhost:5000", s.Address, "http://localhost:8000", stub.URL)
}
