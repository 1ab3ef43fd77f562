package protocols

import (
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func rankServer(t *testing.T, class string) *harness.Server {
	t.Helper()
	return harness.Ready(t, harness.Options{Model: "generative.py:" + class, Args: []string{"--model", "m"}})
}

// TestRerank_Answers asks as Jina's and Cohere's clients do, a function that takes all documents and one that takes
// each.
func TestRerank_Answers(t *testing.T) {
	t.Parallel()
	const usage = `,"usage":{"prompt_tokens":%TOKENS%,"total_tokens":%TOKENS%},"meta":{"api_version":{"version":"2"},"billed_units":{"search_units":1}}}`
	for class, tokens := range map[string]string{"Ranker": "3", "PairRanker": "0"} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			s := rankServer(t, class)
			end := strings.ReplaceAll(usage, "%TOKENS%", tokens)
			for _, c := range []struct{ path, body, results string }{
				{
					"/v1/rerank", `"documents":["b","aaa","aa"]`,
					`{"index":1,"relevance_score":0.3,"document":{"text":"aaa"}},{"index":2,"relevance_score":0.2,"document":{"text":"aa"}},{"index":0,"relevance_score":0.0,"document":{"text":"b"}}`,
				},
				{
					"/v1/rerank", `"documents":["b",{"text":"aaa"},"aa"],"top_n":2,"return_documents":false`,
					`{"index":1,"relevance_score":0.3},{"index":2,"relevance_score":0.2}`,
				},
				{
					"/v2/rerank", `"documents":["b","aaa","aa"],"top_n":1,"max_tokens_per_doc":9`,
					`{"index":1,"relevance_score":0.3}`,
				},
			} {
				answer := s.Do(http.MethodPost, c.path, `{"model":"m","query":"a",`+c.body+`}`)
				want := `{"object":"list","id":"` + answer.Header.Get("X-Request-Id") + `","model":"m","results":[` + c.results +
					`]` + end
				assert.Equal(t, c.path+" "+c.body, string(answer.Body), want)
			}
		})
	}
}

// TestRerank_OfTheDocument serves the model that docs/how-to/openai.md shows, and runs the client beside it.
func TestRerank_OfTheDocument(t *testing.T) {
	t.Parallel()
	runOfPage(t, "Rerank", "rank", harness.AnyPython(t).Path)
}

func TestSpeech_OfTheDocument(t *testing.T) {
	t.Parallel()
	runOfPage(t, "Speech", "speak", harness.Tool(t, "venvs/protocols/bin/python"))
}

// runOfPage serves the model of a section of docs/how-to/openai.md by a name, and runs the client of
// docs/reference/protocols.md that has it.
func runOfPage(t *testing.T, section, name, python string) {
	t.Helper()
	const document = "../docs/how-to/openai.md"
	_, text, _ := strings.Cut(harness.ReadFile(t, document), "## "+section+"\n")
	model, _, _ := strings.Cut(text, "\n\nServed as")
	s := harness.Ready(t, harness.Options{
		Dir:  harness.NewFolder(t, "run.py", strings.ReplaceAll(model, "\n    ", "\n"), "cog.yaml", "run: run.py:Runner\n"),
		Args: []string{"--model", name},
	})
	harness.RunProgram(t, "../docs/reference/protocols.md", "# "+name+".py", python, "http://localhost:5000", s.Address)
}

// TestRerank_Errors compares statuses, and the message that Cohere's clients read beside OpenAI's error object.
func TestRerank_Errors(t *testing.T) {
	t.Parallel()
	s := rankServer(t, "Ranker")
	for body, want := range map[string]string{
		`{"model":"m","query":"a"}`:                               "Missing required parameter: 'documents'.",
		`{"model":"m","documents":["a"]}`:                         "Missing required parameter: 'query'.",
		`{"model":"m","query":3,"documents":["a"]}`:               "Invalid type for 'query': expected a string, but got an integer instead.",
		`{"model":"m","query":"a","documents":[]}`:                "Invalid value for 'documents': it is empty.",
		`{"model":"m","query":"a","documents":"a"}`:               "Invalid type for 'documents': expected an array, but got a string instead.",
		`{"model":"m","query":"a","documents":[1]}`:               "Invalid type for 'documents[0]': expected a string or an object with text, but got an integer instead.",
		`{"model":"m","query":"a","documents":[{}]}`:              "Missing required parameter: 'documents[0].text'.",
		`{"model":"m","query":"a","documents":["a"],"top_n":0}`:   "Invalid value for 'top_n': must be an integer of at least 1.",
		`{"model":"m","query":"a","documents":["a"],"top_n":1.5}`: "Invalid value for 'top_n': must be an integer of at least 1.",
		`{"model":"m","query":"a","documents":["a"],"x":1}`:       "Unknown parameter: 'x'.",
	} {
		for _, path := range []string{"/v1/rerank", "/v2/rerank"} {
			harness.WantAnswer(t, path+" "+body, s.Do(http.MethodPost, path, body), 400, `,"message":"`+want+`"}`)
		}
	}
	answer := s.Do(http.MethodPost, "/v2/rerank", `{"model":"m","query":"short","documents":["a","b"]}`)
	harness.WantAnswer(t, "too few scores", answer, 500, "The model returned 1 scores for 2 documents.")
	harness.WantAnswer(t, "another model", s.Do(http.MethodPost, "/v2/rerank", `{"model":"n"}`), 404,
		`"code":"model_not_found"`)
}

// TestRerank_Cohere has Cohere's clients ask, the newer and the older one.
func TestRerank_Cohere(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	for _, class := range []string{"Ranker", "PairRanker"} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			askAsFull(t, "clients/cohere_sdk.py", rankServer(t, class).Address)
		})
	}
}
