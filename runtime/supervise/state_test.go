package supervise

import (
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestState_Moves walks every pair of states: a worker makes the legal moves, and refuses and logs the others.
func TestState_Moves(t *testing.T) {
	legal := map[[2]State]bool{
		{Starting, Setup}: true, {Starting, Draining}: true, {Starting, Exited}: true,
		{Setup, Ready}: true, {Setup, Draining}: true, {Setup, Exited}: true,
		{Ready, Draining}: true, {Ready, Exited}: true,
		{Draining, Exited}: true,
	}
	assert.Moves(t, states, legal, func(from, to State) (changed bool, now State) {
		log := &journal{}
		w := newWorker(New(Options{Logger: slog.New(log), Hooks: Hooks{OnChange: func() {}}}), false)
		w.status.State = from
		w.move(to, func(*ProcessStatus) { changed = true })
		if logged := len(log.mistakes()) > 0; logged == changed {
			t.Errorf("from %v to %v: changed %v, logged %q: got %t, want anything but %t", from, to, changed, log.mistakes(),
				logged, changed)
		}
		return changed, w.status.State
	})
	for s := State(0); s <= states; s++ {
		if known := s < states; known == (s.String() == "unknown") {
			t.Errorf("state %d is called %q: got %t, want anything but %t", s, s, known, s.String() == "unknown")
		}
	}
}

// TestState_OneFunctionSetsState: no code but worker.move assigns a worker's state, so none evades the table.
func TestState_OneFunctionSetsState(t *testing.T) {
	entries := assert.Must(os.ReadDir("."))(t)
	var found []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") || e.Name() == "preloader.go" {
			continue // a preload process has its own states
		}
		file := assert.Must(parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			if assignment, ok := n.(*ast.AssignStmt); ok {
				for _, left := range assignment.Lhs {
					if x, ok := left.(*ast.SelectorExpr); ok && x.Sel.Name == "State" {
						found = append(found, e.Name())
					}
				}
			}
			return true
		})
	}
	assert.EqualNow(t, "number that is found", len(found), 1)
	assert.Equal(t, "first that is found", found[0], "state.go")
}
