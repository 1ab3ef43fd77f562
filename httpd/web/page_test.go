package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pinion/tests/assert"
)

// TestPage_FetchesNothing: it is one page, fetches nothing from elsewhere, and its policy allows just the script and
// the style in it.
func TestPage_FetchesNothing(t *testing.T) {
	var ctx fasthttp.RequestCtx
	Page(PageOptions{Model: "a <b>", Dashboard: "dashboard"})(&ctx)
	body := ctx.Response.Body()
	policy := string(ctx.Response.Header.Peek("Content-Security-Policy"))
	for _, tag := range []string{"script", "style"} {
		inline := regexp.MustCompile(`(?s)<`+tag+`>(.*?)</`+tag+`>`).FindAllSubmatch(body, -1)
		assert.TrueNow(t, len(inline) == 1, "%d elements of %s, want 1", len(inline), tag)
		sum := sha256.Sum256(inline[0][1])
		want := tag + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		assert.True(t, strings.Contains(policy, want), "the policy %q lacks %q, want it there", policy, want)
	}
	assert.True(t, bytes.Contains(body, []byte("<title>a &lt;b&gt;</title>")),
		`the page lacks the model's name: got %.300q, want it to contain "<title>a &lt;b&gt;</title>"`, body)
	assert.False(t, strings.Contains(policy, "unsafe"), `the policy is %q, want no "unsafe" in it`, policy)
	assert.True(t, bytes.Contains(body, []byte(`href="dashboard"`)),
		"the page has no link to the live view: got %.300q, want it to contain %q", body, `href="dashboard"`)
	var alone fasthttp.RequestCtx
	if Page(PageOptions{})(&alone); bytes.Contains(alone.Response.Body(), []byte("Live view")) {
		t.Error("got a link to the live view, want none: there is no live view")
	}
	assert.False(t, bytes.Contains(alone.Response.Body(), []byte(">Help<")),
		"got a link to the documents, want none: their address is not known")
	var helped fasthttp.RequestCtx
	Page(PageOptions{Help: `https://docs.example/"x"`})(&helped)
	want := `href="https://docs.example/&#34;x&#34;"`
	assert.True(t, bytes.Contains(helped.Response.Body(), []byte(want)), "got no link %s to the documents", want)
	for _, from := range []string{
		`src="http`, `href="http`, "@import", "innerHTML", "eval(", "document.write",
		"insertAdjacentHTML",
	} {
		assert.False(t, bytes.Contains(body, []byte(from)), "the page has %q: got %.300q, want no %q in it", from, body, []byte(from))
	}
}

// TestPage_Scripts: each file of the folder is in the page, once.
func TestPage_Scripts(t *testing.T) {
	entries := assert.Must(pageScripts.ReadDir("page/scripts"))(t)
	var there []string
	for _, e := range entries {
		there = append(there, strings.TrimSuffix(e.Name(), ".js"))
	}
	named := slices.Sorted(slices.Values(pageNames()))
	assert.True(t, slices.Equal(there, named), "the folder has %q, the page takes %q, want the same", there, named)
}
