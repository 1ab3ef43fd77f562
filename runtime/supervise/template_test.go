package supervise

import (
	"os"
	"os/exec"
	"reflect"
	"slices"
	"testing"
)

func TestDifferencesOfEnvironments(t *testing.T) {
	from := []string{"LANG=C", "KEPT=1", "TWICE=old", "TWICE=new", "EMPTY="}
	to := []string{"KEPT=1", "TWICE=new", "CUDA_VISIBLE_DEVICES=2", "EMPTY=x=y", "no variable"}
	got := map[string]string{}
	for name, value := range differences(from, to) {
		if got[name] = "(unset)"; value != nil {
			got[name] = *value
		}
	}
	want := map[string]string{"LANG": "(unset)", "CUDA_VISIBLE_DEVICES": "2", "EMPTY": "x=y"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestATemplateIsForItsOwnModel: a worker with another model, or another Python, is not forked from it.
func TestATemplateIsForItsOwnModel(t *testing.T) {
	m := &mother{spec: Spec{Python: "python", Root: "/model", Ref: "predict.py", SDK: "/one"}}
	for what, c := range map[string]struct {
		change func(*Spec)
		fits   bool
	}{
		"the same":                 {func(*Spec) {}, true},
		"another copy of the SDK":  {func(s *Spec) { s.SDK = "/two" }, true},
		"other weights":            {func(s *Spec) { s.Weights = "weights" }, true},
		"another concurrency":      {func(s *Spec) { s.Concurrency = 4 }, true},
		"another file":             {func(s *Spec) { s.Ref = "other.py" }, false},
		"a train function besides": {func(s *Spec) { s.Train = "train.py:train" }, false},
		"another Python":           {func(s *Spec) { s.Python = "python3" }, false},
		"CUDA left to the model":   {func(s *Spec) { s.NoCUDA = true }, false},
	} {
		spec := m.spec
		c.change(&spec)
		if got := m.fits(spec); got != c.fits {
			t.Errorf("%s: %t", what, got)
		}
	}
}

func TestLinesAreToldWhole(t *testing.T) {
	var got []string
	l := newLines(stdout, func(_ source, line []byte) { got = append(got, string(line)) })
	for _, text := range []string{"one\ntw", "o\n\nth", "ree"} {
		if n, err := l.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("wrote %d of %d bytes: %v", n, len(text), err)
		}
	}
	l.end()
	if want := []string{"one", "two", "", "three"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNoTemplate: a nil one is never there, and holds nobody up.
func TestNoTemplate(t *testing.T) {
	var none *Template
	if !none.await(nil, nil) {
		t.Error("it is waited for")
	}
	if _, ok := none.fork(Spec{}, nil, [handles]*os.File{}); ok {
		t.Error("it has forked")
	}
	none.Close()
	var gone *mother
	gone.end()
}

// TestAnAdoptedProcessIsNoOrphan: whoever adopted it waits for it.
func TestAnAdoptedProcessIsNoOrphan(t *testing.T) {
	o := NewOrphans()
	cmd := exec.Command("true")
	pid, err := o.adopt(func() (int, error) {
		err := cmd.Start()
		return cmd.Process.Pid, err
	})
	if err != nil {
		t.Fatal(err)
	}
	for statOf(pid)[0] != "Z" {
	}
	if n := o.Reap(); n != 0 {
		t.Errorf("%d orphans were reaped", n)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	o.waited(pid)
}
