package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestMain_CheckerFindsBrokenPromises: each journal breaks one.
func TestMain_CheckerFindsBrokenPromises(t *testing.T) {
	t.Parallel()
	const accepted, webhook = `{"id":"p","what":"accepted"}`, `{"id":"p","what":"webhook","status":"succeeded","output":"p 1"}`
	const state = `{"id":"p","what":"state","status":"succeeded","output":"p 1"}`
	for want, c := range map[string]struct{ journal, ledger []string }{
		"":                            {[]string{accepted, state, webhook}, []string{"p 1"}},
		"its webhook did not come":    {[]string{accepted, state}, []string{"p 1"}},
		"no server tells its end":     {[]string{accepted, webhook}, []string{"p 1"}},
		"is not of its run":           {[]string{accepted, state, webhook}, []string{"p 2"}},
		"it ran 3 times":              {[]string{accepted, state, webhook}, []string{"p 1", "p 2", "p 3"}},
		"it has two ends":             {[]string{accepted, state, webhook, `{"id":"p","what":"state","status":"succeeded","output":"p 2"}`}, []string{"p 1", "p 2"}},
		"after a cancel was answered": {[]string{accepted, state, webhook, `{"id":"p","what":"canceled"}`}, []string{"p 1"}},
		"no client asked for that": {
			[]string{accepted, strings.ReplaceAll(state, "succeeded", "canceled"), strings.ReplaceAll(webhook, "succeeded", "canceled")}, nil,
		},
		"it failed: the disk is full": {
			[]string{
				accepted, `{"id":"p","what":"state","status":"failed","error":"the disk is full"}`,
				`{"id":"p","what":"webhook","status":"failed","error":"the disk is full"}`,
			}, nil,
		},
		"it has not ended: it is star": {
			[]string{accepted, `{"id":"p","what":"state","status":"starting"}`, `{"id":"p","what":"webhook","status":"starting"}`}, nil,
		},
		"it was never accepted": {[]string{accepted, state, webhook, `{"id":"q","what":"asked"}`}, []string{"p 1"}},
	} {
		dir := t.TempDir()
		journal, ledger := filepath.Join(dir, "journal"), filepath.Join(dir, "ledger")
		for path, text := range map[string][]string{journal: c.journal, ledger: c.ledger} {
			assert.NoError(t, os.WriteFile(path, []byte(strings.Join(append(text, ""), "\n")), 0o600))
		}
		records := assert.Must(read(journal, ledger))(t)
		broken, summary := check(records, 2)
		if want == "" && len(broken) > 0 || want != "" && (len(broken) != 1 || !strings.Contains(broken[0], want)) {
			t.Errorf("%q: %q, %s, want len(broken) empty and 1 and broken[0] with %q", want, broken, summary, want)
		}
	}
}
