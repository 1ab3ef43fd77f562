package instances

import (
	"fmt"
	"testing"

	"pinion/tests/assert"
)

// TestPageAfter_ListsEachModelOnce, over as many pages as it takes.
func TestPageAfter_ListsEachModelOnce(t *testing.T) {
	for _, n := range []int{0, 1, modelsPage, modelsPage + 1, 3 * modelsPage} {
		var loaded []LoadedModel
		for i := range n {
			loaded = append(loaded, LoadedModel{Name: fmt.Sprintf("m%03d", n-i)})
		}
		seen, pages, token := map[string]bool{}, 0, ""
		for pages == 0 || token != "" {
			page := pageAfter(token, loaded)
			assert.TrueNow(t, len(page.Models) <= modelsPage, "got a page of %d models, want at most %d", len(page.Models), modelsPage)
			for _, m := range page.Models {
				seen[m.Name] = true
			}
			token = page.Next
			pages++
		}
		want := max(1, (n+modelsPage-1)/modelsPage)
		assert.True(t, len(seen) == n && pages == want, "%d models: got %d on %d pages, want all on %d", n, len(seen), pages, want)
	}
}
