package queue

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestGatewayMemory_BodiesShareMemoryOfGateway: large requests of many elements, at once and in any format, are
// accepted or refused, and small ones go on.
func TestGatewayMemory_BodiesShareMemoryOfGateway(t *testing.T) {
	t.Parallel()
	enter := harness.NeedMemoryGroup(t, 256<<20)
	g := harness.StartGatewayIn(t, enter, harness.StartNATS(t).URL)
	const asJSON, asForm, asPack = "application/json", "multipart/form-data; boundary=B", "application/msgpack"
	length := string(binary.BigEndian.AppendUint32(nil, 45_000_000))
	for name, c := range map[string]struct {
		contentType, body string
		code              int // beside 503 with Retry-After; 0 means accepted
	}{
		"numbers":     {asJSON, `{"input":{"x":[` + strings.Repeat("0,", 15_000_000) + `0]}}`, 0},
		"empty lists": {asJSON, `{"input":{"x":[` + strings.Repeat("[],", 15_000_000) + `[]]}}`, 0},
		"a text":      {asJSON, `{"input":{"x":"` + strings.Repeat("t", 60_000_000) + `"}}`, 0},
		"a long time": {asJSON, `{"input":{},"created_at":"` + strings.Repeat("t", 45_000_000) + `"}`, 0},
		"parts": {
			asForm,
			strings.Repeat("--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n", 900_000) + "--B--\r\n",
			http.StatusBadRequest,
		},
		"a file": {
			asForm,
			"--B\r\nContent-Disposition: form-data; name=\"a\"; filename=\"f\"\r\n\r\n" + strings.Repeat("t", 60_000_000) +
				"\r\n--B--\r\n", 0,
		},
		"lists in a pack":   {asPack, "\x81\xa5input\x81\xa1x\xdd" + length + strings.Repeat("\x90", 45_000_000), 0},
		"escapes in a pack": {asPack, "\x81\xa5input\x81\xa1x\xdb" + length + strings.Repeat("\x01", 45_000_000), 0},
	} {
		harness.RunClients(t, 6, func(int) error {
			a := g.Create(c.body, "Content-Type", c.contentType, "Prefer", "respond-async")
			switch {
			case a.Code == c.code, c.code == 0 && a.Code == http.StatusAccepted:
			case a.Code == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != "":
			// as JSON it is larger than a body may be
			case c.contentType == asPack && a.Code == http.StatusRequestEntityTooLarge:
			default:
				return fmt.Errorf("%s: %.300s", name, a.String())
			}
			if a := g.Create(`{"input":{"x":1}}`, "Prefer", "respond-async"); a.Code != http.StatusAccepted {
				return fmt.Errorf("a small one after %s: %.300s", name, a.String())
			}
			return nil
		})
	}
}

// TestGatewayMemory_FormOfAnotherProtocol: a file that as a job is larger than the gateway's budget is refused as too
// large, without Retry-After, since it never fits. Smaller ones go on.
func TestGatewayMemory_FormOfAnotherProtocol(t *testing.T) {
	t.Parallel()
	enter := harness.NeedMemoryGroup(t, 128<<20) // so the budget is 32 MiB
	at := harness.StartNATS(t).URL
	harness.StartMember(t, at, harness.Options{Model: "generative.py:Transcriber"})
	g := harness.StartGatewayIn(t, enter, at)
	assert.Eventually(t, "the gateway knows the model",
		func() bool { return g.Do(http.MethodGet, "/models/m/openapi.json", nil).Code == http.StatusOK })
	transcribe := func(size int) harness.Answer {
		return g.Do(http.MethodPost, "/v1/audio/transcriptions", []byte("--B\r\nContent-Disposition: form-data; "+
			"name=\"model\"\r\n\r\nm\r\n--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n"+
			strings.Repeat("s", size)+"\r\n--B--\r\n"), "Content-Type", "multipart/form-data; boundary=B")
	}
	got := transcribe(40 << 20)
	harness.WantAnswer(t, "what never fits", got, http.StatusRequestEntityTooLarge,
		"larger than the server's memory budget allows, which is 32 MiB")
	assert.Equal(t, "Retry-After", got.Header.Get("Retry-After"), "")
	harness.WantCode(t, "what fits", transcribe(4<<20), http.StatusOK)
}

// TestGatewayMemory_OutputsWithoutRoom: a job whose output finds no room, on its server or at the gateway, is answered with
// when to ask again, as by a server without a queue.
func TestGatewayMemory_OutputsWithoutRoom(t *testing.T) {
	t.Parallel()
	enter := harness.NeedMemoryGroup(t, 256<<20) // the gateway's budget is a quarter
	for name, c := range map[string]struct {
		budget string
		size   int
	}{"on the server": {"16MiB", 24 << 20}, "at the gateway": {"1GiB", 80 << 20}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nats := harness.StartNATS(t)
			dir := harness.NewFolder(t, "run.py", `
import cog

class Runner(cog.BaseRunner):
    @cog.openai("completions")
    def run(self, prompt: str = "", text: str = "", text_input: str = "") -> str:
        return "x" * `+fmt.Sprint(c.size)+"\n")
			harness.StartMember(t, nats.URL, harness.Options{
				Dir: dir, Model: "run.py:Runner", Args: []string{"--memory-budget", c.budget},
			})
			g := harness.StartGatewayIn(t, enter, nats.URL)
			assert.Eventually(t, "the gateway knows the model", func() bool {
				return g.Do(http.MethodGet, "/openapi.json", nil).Code == http.StatusOK
			})
			for path, body := range gatewayRoutes {
				asIs := strings.HasSuffix(path, "/predictions") || path == "/invocations"
				if asIs && name == "at the gateway" {
					continue // the gateway passes the output on as it is stored, without memory for it
				}
				a := g.Do(http.MethodPost, path, []byte(body), "Prefer", "wait=60")
				assert.Contains(t, path, string(a.Body), "memory")
				if strings.HasSuffix(path, "/predictions") { // those of an object
					assert.Equal(t, path+": status", a.Status, "failed")
					continue
				}
				assert.True(t, a.Code == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != "",
					"%s: %s with %v, want 503 with Retry-After", path, a, a.Header)
			}
		})
	}
}
