package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/harness"
)

// input is what a test gives to a model.
type input = map[string]any

// sameJSON fails unless got is the JSON document want, with any spacing and any order of its keys. Numbers are
// compared by their digits.
func sameJSON(t testing.TB, what string, got []byte, want string) {
	t.Helper()
	var g, w any
	if err := decodeExact(got, &g); err != nil {
		t.Errorf("%s: %v in %.500s", what, err, got)
		return
	}
	if err := decodeExact([]byte(want), &w); err != nil {
		t.Fatalf("%s: the test's own JSON: %v", what, err)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("%s:\n got %.1000s\nwant %.1000s", what, got, want)
	}
}

func decodeExact(data []byte, to any) error {
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	return decoder.Decode(to)
}

// wantText fails unless text holds all parts, in this order.
func wantText(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Errorf("%s lacks %q (or has it too early):\n%.3000s", what, part, text)
			return
		}
		rest = after
	}
}

// wantCode fails unless the answer has this status code.
func wantCode(t testing.TB, what string, a harness.Answer, code int) {
	t.Helper()
	if a.Err != nil || a.Code != code {
		t.Errorf("%s: got %s, want %d", what, a, code)
	}
}

// wantStatus fails unless a prediction ended so.
func wantStatus(t testing.TB, what string, a harness.Answer, status string) {
	t.Helper()
	if a.Status != status {
		t.Errorf("%s: got %s, want it %s", what, a, status)
	}
}

// wantOutput fails unless a prediction has succeeded with this text.
func wantOutput(t testing.TB, what string, a harness.Answer, text string) {
	t.Helper()
	if a.Status != "succeeded" || a.Text(t) != text {
		t.Errorf("%s: got %s, want the output %q", what, a, text)
	}
}

// wantFailed fails unless a prediction has failed, with this text in its error.
func wantFailed(t testing.TB, what string, a harness.Answer, text string) {
	t.Helper()
	if a.Status != "failed" || !strings.Contains(a.Error, text) {
		t.Errorf("%s: got %s, want the error %q", what, a, text)
	}
}

// wantAnswer fails unless an answer has this status code, and this text in its body.
func wantAnswer(t testing.TB, what string, a harness.Answer, code int, text string) {
	t.Helper()
	if a.Err != nil || a.Code != code || !strings.Contains(string(a.Body), text) {
		t.Errorf("%s: got %s, want %d with %q", what, a, code, text)
	}
}

// anyCode is an exit code for refused: any that says that it went wrong.
const anyCode = -1

// refused fails unless a server ends before it listens, with this exit code, and says this text. It returns all that it
// says.
func refused(t testing.TB, o harness.Options, code int, text string) string {
	t.Helper()
	got, says := harness.Refused(t, o)
	if got != code && (code != anyCode || got == 0) || !strings.Contains(says, text) {
		t.Errorf("exit code %d: %s; want %q", got, says, text)
	}
	return says
}

// needs skips a test where a Python lacks a package.
func needs(t testing.TB, python harness.Python, module string) {
	t.Helper()
	if !harness.Has(python, module) {
		t.Skipf("%s is not installed", module)
	}
}

// memoryGroup is a command that enters a new control group with so much memory, or skips the test.
func memoryGroup(t testing.TB, limit int64) (enter []string) {
	t.Helper()
	_, enter, ok := harness.MemoryGroup(t, limit)
	if !ok {
		t.Skip("no control group can be made here")
	}
	return enter
}

// same fails unless got is what is wanted.
func same[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %.3000s, want %.3000s", what, fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want))
	}
}

// makeFIFO makes a named pipe in a model's folder, at which the model waits, and returns what lets it go on.
func makeFIFO(t testing.TB, dir, name string) (open func()) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		// To open it fails until somebody reads it; to close it is what ends the reading.
		harness.Eventually(t, "the model waits at "+name, func() bool { return openFIFO(path) })
	}
}

// hold begins a prediction of a model that waits at its gate and logs so, and returns what opens it and the answer. The
// input's token is the prediction's id.
func hold(t testing.TB, s *harness.Server, in input) (open func(), answer <-chan harness.Answer) {
	t.Helper()
	open = makeFIFO(t, s.Dir, "gate")
	id := toText(in["token"])
	in["gate"] = "gate"
	answer = s.Begin(id, in)
	s.WaitLog("waiting " + id)
	return open, answer
}

// openFIFO lets those pass who read a named pipe now; false: there is no reader.
func openFIFO(path string) bool {
	file, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		file.Close()
	}
	return err == nil
}

// lines reads a file that a model wrote.
func lines(t testing.TB, s *harness.Server, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// once fails unless each of the tokens was run at most once, and returns how often each was.
func once(t testing.TB, ran []string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, token := range ran {
		if counts[token]++; counts[token] == 2 {
			t.Errorf("the model ran %s twice", token)
		}
	}
	return counts
}

// numbered is n names.
func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return names
}

// toText is a JSON value as text, strings as they are.
func toText(v any) string { return fmt.Sprint(v) }

// readFile is the text of a file.
func readFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// writeFile writes a file, and makes its folder.
func writeFile[T string | []byte](t testing.TB, path string, text T) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// absolute is a path from the root.
func absolute(t testing.TB, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// fromJSON reads a JSON document.
func fromJSON[T ~string | ~[]byte](t testing.TB, text T, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), to); err != nil {
		t.Fatalf("%v in %.1000s", err, text)
	}
}

// launch starts a command.
func launch(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// beside runs a program until the test's end, and shows what it says where the test failed.
func beside(t testing.TB, name string, cmd *exec.Cmd) *harness.Log {
	t.Helper()
	says := &harness.Log{}
	cmd.Stdout, cmd.Stderr = says, says
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	launch(t, cmd)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s says: %s", name, says)
		}
	})
	return says
}

// kill sends a signal to a process, or to the group of a negative one.
func kill(t testing.TB, pid int, sig syscall.Signal) {
	t.Helper()
	if pid == 0 || pid == -1 { // that would be the test itself, or all that there is
		t.Fatalf("nothing to kill: %d", pid)
	}
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}
