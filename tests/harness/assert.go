package harness

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// Input is what a test gives to a model.
type Input = map[string]any

// EqualJSON fails unless got is the JSON document want, with any spacing and any order of its keys. Numbers are
// compared by their digits.
func EqualJSON(t testing.TB, what string, got []byte, want string) {
	t.Helper()
	var g, w any
	if err := DecodeExact(got, &g); err != nil {
		t.Errorf("%s: got %v, want no error in %.500s", what, err, got)
		return
	}
	assert.NoError(t, DecodeExact([]byte(want), &w), what, "the test's own JSON")
	assert.True(t, reflect.DeepEqual(g, w), "%s:\n got %.1000s\nwant %.1000s", what, got, want)
}

// DecodeExact reads JSON and keeps the digits of its numbers.
func DecodeExact(data []byte, to any) error {
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	return decoder.Decode(to)
}

// WantCode fails unless the answer has this status code.
func WantCode(t testing.TB, what string, a Answer, code int) {
	t.Helper()
	assert.NoError(t, a.Err)
	assert.Equal(t, what+": a.Code", a.Code, code)
}

// WantStatus fails unless a prediction ended so.
func WantStatus(t testing.TB, what string, a Answer, status string) {
	t.Helper()
	assert.True(t, a.Status == status, "%s: got %s, want it %s", what, a, status)
}

// WantOutput fails unless a prediction has succeeded with this text.
func WantOutput(t testing.TB, what string, a Answer, text string) {
	t.Helper()
	assert.Equal(t, what+": a.Status", a.Status, "succeeded")
	assert.Equal(t, what+": a.Text(t)", a.Text(t), text)
}

// WantFailed fails unless a prediction has failed, with this text in its error.
func WantFailed(t testing.TB, what string, a Answer, text string) {
	t.Helper()
	assert.Equal(t, what+": a.Status", a.Status, "failed")
	assert.Contains(t, what+": a.Error", a.Error, text)
}

// WantAnswer fails unless an answer has this status code, and this text in its body.
func WantAnswer(t testing.TB, what string, a Answer, code int, text string) {
	t.Helper()
	assert.True(t, a.Err == nil && a.Code == code && strings.Contains(string(a.Body), text),
		"%s: got %s, want %d with %q", what, a, code, text)
}

// AnyCode stands for any exit code but 0, for WantRefused.
const AnyCode = -1

// WantRefused fails unless a server is Refused with this exit code, and says this text. It returns all that it says.
func WantRefused(t testing.TB, o Options, code int, text string) string {
	t.Helper()
	got, says := Refused(t, o)
	assert.True(t, (got == code || code == AnyCode && got != 0) && strings.Contains(says, text),
		"exit code %d: %s; want %q", got, says, text)
	return says
}

// NeedModule skips a test if a Python lacks a package.
func NeedModule(t testing.TB, python Python, module string) {
	t.Helper()
	if !Has(python, module) {
		t.Skipf("%s is not installed", module)
	}
}

// NeedMemoryGroup returns a command that enters a new control group with so much memory, or skips the test.
func NeedMemoryGroup(t testing.TB, limit int64) (enter []string) {
	t.Helper()
	_, enter, ok := MemoryGroup(t, limit)
	if !ok {
		t.Skip("no control group can be made here, or the binary is sanitized")
	}
	return enter
}

// BeginAtGate begins a prediction of a model that waits at its gate and logs so. It returns a function that opens the
// gate, and the answer. The input's token is the prediction's id.
func BeginAtGate(t testing.TB, s *Server, in Input) (open func(), answer <-chan Answer) {
	t.Helper()
	open = MakeFIFO(t, s.Dir, "gate")
	id := fmt.Sprint(in["token"])
	in["gate"] = "gate"
	answer = s.Begin(id, in)
	s.WaitLog("waiting " + id)
	return open, answer
}

// WantOnce fails unless each of the tokens was run at most once, and returns how often each was.
func WantOnce(t testing.TB, ran []string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, token := range ran {
		counts[token]++
		assert.True(t, counts[token] != 2, "the model ran %s twice, want anything but 2", token)
	}
	return counts
}

// Numbered returns n names.
func Numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return names
}

// FromJSON reads a JSON document.
func FromJSON[T ~string | ~[]byte](t testing.TB, text T, to any) {
	t.Helper()
	assert.NoError(t, json.Unmarshal([]byte(text), to), "in", text)
}
