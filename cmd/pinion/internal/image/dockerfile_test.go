package image

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"pinion/cmd/pinion/internal/model"
	"pinion/tests/assert"
)

var update = flag.Bool("update", false, "write the Dockerfiles in testdata anew")

// The files that a case expects; the others are its folder.
const (
	wantedDockerfile = "Dockerfile"
	wantedIgnore     = "Dockerfile.dockerignore"
	wantedProblems   = "problems"
	wantedNotes      = "notes"
)

// TestDockerfile_Golden makes the Dockerfile of each folder in testdata. A case is an archive: a line that describes
// it, options as "name: value", the files of the folder, and the expected files.
func TestDockerfile_Golden(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	assert.TrueNow(t, err == nil && len(cases) >= 30, "there are %d cases, want 30: %v", len(cases), err)
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive := assert.Must(txtar.ParseFile(file))(t)
			root := t.TempDir()
			wanted := map[string]string{}
			kept := archive.Files[:0:0]
			for _, f := range archive.Files {
				switch f.Name {
				case wantedDockerfile, wantedIgnore, wantedProblems, wantedNotes:
					wanted[f.Name] = string(f.Data)
				default:
					kept = append(kept, f)
				}
			}
			assert.NoError(t, txtar.Write(&txtar.Archive{Files: kept}, root))
			got := made(t, root, string(archive.Comment))
			if *update {
				archive.Files = kept
				for _, name := range []string{wantedDockerfile, wantedIgnore, wantedProblems, wantedNotes} {
					if got[name] != "" {
						archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(got[name])})
					}
				}
				assert.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o600))
				return
			}
			for _, name := range []string{wantedDockerfile, wantedIgnore, wantedProblems, wantedNotes} {
				assert.True(t, got[name] == wanted[name],
					"%s is\n%s\nwant\n%s\n(go test ./cmd/pinion/internal/image -update writes it anew)", name, got[name], wanted[name])
			}
		})
	}
}

// made returns what is made of a folder, by the names of the files of a case.
func made(t *testing.T, root, comment string) map[string]string {
	t.Helper()
	dir := root
	o := Options{Title: "model", Version: "1.2.3", CogVersion: "0.23.1", MakeSchema: true}
	for line := range strings.Lines(comment) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "dir":
			dir = filepath.Join(root, value)
		case "context":
			o.Context = filepath.Join(root, value)
		case "base":
			o.Base = value
		case "schema":
			o.Schema, o.MakeSchema = json.RawMessage(value), false
		case "predictor":
			o.Ref = value
		case "revision":
			o.Revision, o.Repository = value, "https://example.com/model.git"
		}
	}
	plan, problems := New(dir, o)
	if plan == nil {
		return map[string]string{wantedProblems: said(problems)}
	}
	return map[string]string{wantedDockerfile: plan.Text(), wantedIgnore: plan.Ignore(), wantedNotes: said(plan.Notes)}
}

func said(problems []model.Problem) (text string) {
	for _, p := range problems {
		text += p.String() + "\n"
	}
	return text
}

// TestDockerfile_LongLabels: no line of a Dockerfile is longer than docker takes, and the builder's joining of the
// lines gives the text.
func TestDockerfile_LongLabels(t *testing.T) {
	values := make([]string, 20_000)
	for i := range values {
		values[i] = []string{"it's", "$HOME", "#", `a\b "c"`, "  "}[i%5]
	}
	for _, value := range []any{values, strings.Repeat("# \\ x", 10_000)} {
		text, err := json.Marshal(value)
		assert.NoError(t, err)
		quoted := quoteJSON(text)
		for line := range strings.Lines(quoted) {
			assert.TrueNow(t, len(line) <= 2*longestLine && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, " "),
				"got a line of %d bytes, %.20q, want at most %d, of one instruction", len(line), line, 2*longestLine)
		}
		joined := strings.Trim(strings.ReplaceAll(quoted, "\\\n", ""), "'")
		var got, other any
		err = errors.Join(json.Unmarshal(text, &got), json.Unmarshal([]byte(joined), &other))
		assert.True(t, err == nil && reflect.DeepEqual(got, other), "the label has another text: %v: got %v, want %v", err, got, other)
		assert.False(t, strings.Contains(joined, "'"), `a quote ends the word: got %.300q, want no "'" in it`, joined)
	}
}
