package protocols

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const replicateToken = "a-token-0123456789"

func replicateServer(t *testing.T, class string, args ...string) *harness.Server {
	t.Helper()
	return harness.Ready(t, harness.Options{
		Model: "replicate.py:" + class, Args: append([]string{"--model", "m", "--queue", "64"}, args...),
	})
}

// TestReplicate_Client has Replicate's client for Python ask a server that is open, one that requires a token, and one
// with a job queue: predictions, run, streams, files, deployments and signed webhooks.
func TestReplicate_Client(t *testing.T) {
	t.Parallel()
	python := harness.Tool(t, "venvs/protocols/bin/python")
	client := harness.Absolute(t, "clients/replicate_sdk.py")
	secrets := map[string][]string{"queue": {"PINION_WEBHOOK_SECRET=whsec_" + strings.Repeat("ab", 16)}}
	for name, args := range map[string][]string{
		"open":   nil,
		"tokens": {"--auth-token-file", harness.TokenFile(t, replicateToken)},
		"queue":  {"--nats", "embed:" + harness.ShortTempDir(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{
				Model: "replicate.py:Words", Args: append([]string{"--model", "m", "--queue", "64"}, args...), Env: secrets[name],
			})
			harness.RunTool(t, t.TempDir(), nil, python, "-B", client, s.Address, replicateToken)
		})
	}
}

// TestReplicateClient_JavaScript has the client for JavaScript ask the same.
func TestReplicateClient_JavaScript(t *testing.T) {
	t.Parallel()
	modules := harness.Tool(t, "clients/node_modules")
	dir := t.TempDir()
	text := assert.Must(os.ReadFile("clients/replicate_sdk.mjs"))(t)
	harness.WriteFile(t, filepath.Join(dir, "client.mjs"), text)
	assert.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
	s := replicateServer(t, "Words", "--auth-token-file", harness.TokenFile(t, replicateToken))
	harness.RunTool(t, dir, nil, "node", "client.mjs", s.Address, replicateToken)
}

// TestReplicate_Errors compares the problem documents of wrong requests.
func TestReplicate_Errors(t *testing.T) {
	t.Parallel()
	s := replicateServer(t, "Shout")
	const create = "/v1/models/acme/m/predictions"
	problem := func(title, detail, status, fields string) string {
		return `{"title":"` + title + `","detail":"` + detail + `","status":` + status + fields + `}`
	}
	const unprocessable = "Unprocessable Entity"
	for _, e := range []exchange{
		{
			path: create, body: `{`, status: 422,
			want: problem(unprocessable, "invalid JSON at byte 1: unexpected end", "422", ""),
		},
		{path: create, body: `[]`, status: 422, want: problem(unprocessable, "the body must be a JSON object", "422", "")},
		{
			path: create, body: `{"input":{}}`, status: 422,
			want: problem("Input validation failed", "input text: Field required", "422",
				`,"invalid_fields":[{"field":"input.text","type":"invalid","description":"Field required"}]`),
		},
		{
			path: "/v1/predictions", body: `{"input":{"text":"a"}}`, status: 422,
			want: problem("Input validation failed", "version is required: an id, OWNER/NAME or OWNER/NAME:ID", "422",
				`,"invalid_fields":[{"field":"version","type":"invalid","description":"is required: an id, OWNER/NAME or OWNER/NAME:ID"}]`),
		},
		{
			path: "/v1/models/acme/n/predictions", body: `{}`, status: 404,
			want: problem("Not Found", `unknown model \"n\": this server has \"m\"`, "404", ""),
		},
		{path: "/v1/predictions/x", status: 404, want: problem("Not Found", `unknown prediction \"x\"`, "404", "")},
		{path: "/v1/streams/x", status: 404, want: problem("Not Found", `unknown prediction \"x\"`, "404", "")},
		{path: "/v1/files/x/download", status: 404, want: problem("Not Found", `unknown file \"x\"`, "404", "")},
		{path: "/v1/trainings", status: 404, want: problem("Not Found", "unknown path /v1/trainings", "404", "")},
		{path: "/v1/collections", status: 404, want: problem("Not Found", "unknown path /v1/collections", "404", "")},
		{
			path: "/v1/webhooks/default/secret", body: "{}", status: 405,
			want: problem("Method Not Allowed", "/v1/webhooks/default/secret does not take POST", "405", ""),
		},
		{
			path: "/v1/files", body: "{}", status: 422,
			want: problem(unprocessable, `Send the body as multipart/form-data, not as \"application/json\"`, "422", ""),
		},
	} {
		e.check(t, s)
	}
	answer := s.Do(http.MethodPost, create, `{"input":{"text":"a"},"webhook":"ftp://x"}`)
	harness.WantAnswer(t, "a webhook of another scheme", answer, 422, `"field":"webhook"`)
}

// TestReplicate_DoesNotStreamWithoutIterator: a model that returns one value has no link to a stream.
func TestReplicate_DoesNotStreamWithoutIterator(t *testing.T) {
	t.Parallel()
	s := replicateServer(t, "Shout")
	answer := s.Do(http.MethodPost, "/v1/predictions", `{"version":"acme/m","input":{"text":"a"}}`, "Prefer", "wait")
	got := string(answer.Body)
	assert.True(t, answer.Code == 201 && !strings.Contains(got, "/v1/streams/") && strings.Contains(got, `"output":"A"`),
		"got %d %s, want 201, the output and no link to a stream", answer.Code, got)
}

// TestReplicate_Signatures: with tokens, a link of a stream or a file needs none, and leads nowhere else.
func TestReplicate_Signatures(t *testing.T) {
	t.Parallel()
	s := replicateServer(t, "Words", "--auth-token-file", harness.TokenFile(t, replicateToken))
	var made struct {
		Urls struct{ Get, Cancel, Stream string }
	}
	answer := s.Do(http.MethodPost, "/v1/predictions", `{"version":"acme/m","input":{"text":"a"}}`,
		"Authorization", "Token "+replicateToken)
	harness.WantCode(t, "with Authorization: Token", answer, 201)
	harness.FromJSON(t, answer.Body, &made)
	link, _ := strings.CutPrefix(made.Urls.Stream, s.Address)
	_, signature, ok := strings.Cut(link, "?signature=")
	assert.TrueNow(t, ok, "got the link %q, want a signature", made.Urls.Stream)
	harness.WantAnswer(t, "the link", s.Do(http.MethodGet, link, nil), 200, "event: done")
	for what, path := range map[string]string{
		"no signature":             strings.TrimSuffix(link, "?signature="+signature),
		"another signature":        link[:len(link)-1] + "x",
		"an empty signature":       strings.TrimSuffix(link, signature),
		"the signature elsewhere":  "/v1/streams/other?signature=" + signature,
		"a path that needs tokens": strings.TrimPrefix(made.Urls.Get, s.Address) + "?signature=" + signature,
	} {
		harness.WantCode(t, what, s.Do(http.MethodGet, path, nil), 401)
	}
	harness.WantCode(t, "another method", s.Do(http.MethodPost, link, nil), 401)
	answer = s.Do(http.MethodGet, "/v1/predictions/x", nil)
	want := `{"title":"Unauthorized","detail":"This server requires a token`
	assert.True(t, strings.HasPrefix(string(answer.Body), want), "got %s, want %s", answer.Body, want)
}

// TestReplicate_SeveralModels: the version, or the path, says which model a prediction is of, and its id finds it.
func TestReplicate_SeveralModels(t *testing.T) {
	t.Parallel()
	dir, folders := harness.ModelFolders(t,
		map[string]harness.Python{"one": harness.OldestPython(t), "two": harness.OldestPython(t)})
	s := harness.Start(t, harness.Options{Dir: dir, Models: folders, Args: []string{"--queue", "4"}})
	assert.Eventually(t, "the server is ready", func() bool { return s.Do(http.MethodGet, "/readyz", nil).Code == 200 })
	versionOf := func(name string) string {
		var model struct {
			Latest struct{ ID string } `json:"latest_version"`
		}
		harness.FromJSON(t, s.Do(http.MethodGet, "/v1/models/acme/"+name, nil).Body, &model)
		return model.Latest.ID
	}
	for _, c := range []struct{ path, version, model string }{
		{"/v1/predictions", versionOf("one"), "pinion/one"},
		{"/v1/predictions", versionOf("two"), "pinion/two"},
		{"/v1/predictions", "acme/two:" + versionOf("two"), "pinion/two"},
		{"/v1/models/acme/one/predictions", "", "pinion/one"},
		{"/v1/deployments/acme/two/predictions", "", "pinion/two"},
	} {
		answer := s.Do(http.MethodPost, c.path, map[string]any{"version": c.version, "input": map[string]any{}}, "Prefer",
			"wait")
		harness.WantAnswer(t, c.path+" "+c.version, answer, 201, `"model":"`+c.model+`"`)
		var made struct{ ID string }
		harness.FromJSON(t, answer.Body, &made)
		harness.WantAnswer(t, "its id", s.Do(http.MethodGet, "/v1/predictions/"+made.ID, nil), 200, `"model":"`+c.model+`"`)
	}
	unknown := s.Do(http.MethodPost, "/v1/predictions", `{"version":"`+strings.Repeat("0", 64)+`"}`)
	harness.WantAnswer(t, "an unknown version", unknown, 422,
		"pinion/one:"+versionOf("one")+", pinion/two:"+versionOf("two"))
}

// TestReplicate_DisconnectCancels leaves a request that waits, after which the only slot is free again.
func TestReplicate_DisconnectCancels(t *testing.T) {
	t.Parallel()
	s := replicateServer(t, "Words")
	c := s.Dial()
	const body = `{"version":"acme/m","id":"gone","input":{"text":"forever"}}`
	_, err := fmt.Fprintf(c, "POST /v1/predictions HTTP/1.1\r\nHost: x\r\nPrefer: wait\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body)
	assert.NoError(t, err)
	state := func() string { return string(s.Do(http.MethodGet, "/v1/predictions/gone", nil).Body) }
	assert.Eventually(t, "it runs", func() bool { return strings.Contains(state(), `"processing"`) })
	c.Close()
	assert.Eventually(t, "it is canceled", func() bool { return strings.Contains(state(), `"canceled"`) })
	answer := s.Do(http.MethodPost, "/v1/predictions", `{"version":"acme/m","input":{"text":"a"}}`, "Prefer", "wait")
	harness.WantAnswer(t, "the slot is to be free", answer, 201, `"succeeded"`)
}

// TestReplicate_UploadGoesAfterUse: a file that predictions have used goes when it is deleted, however they were run.
func TestReplicate_UploadGoesAfterUse(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"alone": nil, "queue": {"--nats", "embed:"}, "overflow": {"--overflow", "--nats", "embed:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(args) > 0 {
				args[len(args)-1] += harness.ShortTempDir(t)
			}
			s := replicateServer(t, "Words", args...)
			stored := func() (found []string) {
				return assert.Must(filepath.Glob(filepath.Join(s.Tmp, "pinion-run-*", "files", "*", "upload-*")))(t)
			}
			for _, prefer := range []string{"wait", "respond-async"} {
				var file struct {
					ID   string
					URLs struct{ Get string }
				}
				form := "--b\r\nContent-Disposition: form-data; name=\"content\"; filename=\"a.txt\"\r\n\r\nhello\r\n--b--\r\n"
				made := s.Do(http.MethodPost, "/v1/files", form, "Content-Type", "multipart/form-data; boundary=b")
				harness.WantCode(t, "the upload", made, 201)
				harness.FromJSON(t, made.Body, &file)
				assert.Equal(t, "stored uploads", len(stored()), 1)
				body := map[string]any{"version": "acme/m", "id": prefer, "input": map[string]any{"file": file.URLs.Get}}
				answer := s.Do(http.MethodPost, "/v1/predictions", body, "Prefer", prefer)
				assert.TrueNow(t, answer.Code/100 == 2, "%s: got %d %s, want 201 or 202", prefer, answer.Code, answer.Body)
				assert.Eventually(t, prefer+" has succeeded", func() bool {
					return strings.Contains(string(s.Do(http.MethodGet, "/v1/predictions/"+prefer, nil).Body), `"succeeded"`)
				})
				harness.WantCode(t, "the deletion", s.Do(http.MethodDelete, "/v1/files/"+file.ID, nil), 204)
				assert.Eventually(t, "the file of "+prefer+" is removed", func() bool { return len(stored()) == 0 })
			}
		})
	}
}

// TestReplicate_RebindingPage: a page at a name that could be registered reads neither the secret nor the list of
// files.
func TestReplicate_RebindingPage(t *testing.T) {
	t.Parallel()
	s := replicateServer(t, "Words")
	for _, path := range []string{"/v1/webhooks/default/secret", "/v1/files"} {
		answer := s.Raw("GET "+path+" HTTP/1.1\r\nHost: rebound.example:5000\r\n\r\n", 1)[0]
		harness.WantAnswer(t, path, answer, 403, "DNS rebinding")
		harness.WantCode(t, path, s.Do(http.MethodGet, path, nil), 200)
	}
}

// TestReplicate_ForeignPage: a page of another origin may not create predictions, nor upload files.
func TestReplicate_ForeignPage(t *testing.T) {
	t.Parallel()
	s := replicateServer(t, "Words")
	for _, path := range []string{"/v1/predictions", "/v1/files", "/v1/models/acme/m/predictions"} {
		answer := s.Do(http.MethodPost, path, `{}`, "Origin", "https://evil.example")
		harness.WantAnswer(t, path, answer, 403, `{"title":"Forbidden"`)
	}
}
