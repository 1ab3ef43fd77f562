package ipc

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// The other side of the protocol is C and Python. These tests read its sources: a change on one side alone fails.

// cHeader is a C header, understood as far as the project's own are written: constants, and structs of words.
type cHeader struct {
	scope *types.Scope
	sizes types.Sizes
}

var (
	cComment = regexp.MustCompile(`//.*`)
	cDefine  = regexp.MustCompile(`(?m)^#define (PX_\w+) (.+)$`)
	cCast    = regexp.MustCompile(`UINT64_C\((\w+)\)|\(size_t\)(\w+)`)
	cEnum    = regexp.MustCompile(`(PX_\w+) = (\d+)[,\s]`)
	cStruct  = regexp.MustCompile(`(?s)\nstruct (\w+) \{\n(.*?)\n\};`)
	cField   = regexp.MustCompile(`(?:px_word|uint64_t|struct (\w+)) ([^;]+);`)
	cArray   = regexp.MustCompile(`^(\w+)\[(.+)\]$`)
)

// readHeader translates a header to Go and has the compiler's own front end lay it out.
func readHeader(t *testing.T, path string) cHeader {
	t.Helper()
	text := assert.Must(os.ReadFile(path))(t)
	source := cComment.ReplaceAllString(string(text), "")
	var b strings.Builder
	b.WriteString("package c\n")
	for _, m := range cDefine.FindAllStringSubmatch(source, -1) {
		fmt.Fprintf(&b, "const %s = %s\n", m[1], cCast.ReplaceAllString(m[2], "$1$2"))
	}
	for _, m := range cEnum.FindAllStringSubmatch(source, -1) {
		fmt.Fprintf(&b, "const %s = %s\n", m[1], m[2])
	}
	for _, s := range cStruct.FindAllStringSubmatch(source, -1) {
		if !strings.HasPrefix(s[1], "px_consumed") && !strings.HasSuffix(s[1], "page") {
			continue // no part of the shared page
		}
		fmt.Fprintf(&b, "type %s struct {\n", s[1])
		for _, f := range cField.FindAllStringSubmatch(s[2], -1) {
			typ := "uint64"
			if f[1] != "" {
				typ = f[1]
			}
			for name := range strings.SplitSeq(f[2], ",") {
				name = strings.TrimSpace(name)
				if m := cArray.FindStringSubmatch(name); m != nil {
					fmt.Fprintf(&b, "%s [%s]%s\n", m[1], m[2], typ)
				} else {
					fmt.Fprintf(&b, "%s %s\n", name, typ)
				}
			}
		}
		b.WriteString("}\n")
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, b.String(), 0)
	if err != nil {
		t.Fatalf("got %v, want no error in\n%s", err, b.String())
	}
	config := types.Config{Importer: importer.Default()}
	pkg, err := config.Check("c", files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatalf("got %v, want no error in\n%s", err, b.String())
	}
	return cHeader{pkg.Scope(), types.SizesFor("gc", "amd64")} // 64-bit words: alike on every machine we build for
}

// number returns the value of a constant.
func (h cHeader) number(t *testing.T, name string) uint64 {
	t.Helper()
	c, ok := h.scope.Lookup(name).(*types.Const)
	assert.TrueNow(t, ok, "the header has no constant %s", name)
	v, exact := constant.Uint64Val(c.Val())
	if !exact {
		t.Fatalf("%s is %s", name, c.Val())
	}
	return v
}

// layout returns the offset of each field of a struct, and its size under "".
func (h cHeader) layout(t *testing.T, name string) map[string]int64 {
	t.Helper()
	o := h.scope.Lookup(name)
	assert.TrueNow(t, o != nil, "the header has no struct %s", name)
	s := o.Type().Underlying().(*types.Struct)
	var fields []*types.Var
	for f := range s.Fields() {
		fields = append(fields, f)
	}
	at := map[string]int64{"": h.sizes.Sizeof(s)}
	for i, offset := range h.sizes.Offsetsof(fields) {
		at[fields[i].Name()] = offset
	}
	return at
}

func TestLayout_PageOfWorker(t *testing.T) {
	h := readHeader(t, "../pyembed/channel_page.h")
	for name, want := range map[string]uint64{
		"PX_PAGE_MAGIC": pageMagic, "PX_PAGE_HEADER": pageHeader, "PX_PAGE_SLOT": pageSlot, "PX_PAGE_SIZE": PageSize,
		"PX_PAGE_OUT": pageOut, "PX_OUT_MAX": pageOut - offOutData,
		"PX_CLAIMS": Claims, "PX_MAX_SLOTS": MaxSlots, "PX_CLAIM_SHIFT": claimShift, "PX_CANCEL_AGAIN": cancelAgain,
		"PX_CLAIM_QUEUED": uint64(ClaimQueued), "PX_CLAIM_RUNNING": uint64(ClaimRunning),
		"PX_CLAIM_REVOKED": uint64(ClaimRevoked),
	} {
		assert.Equal(t, name, h.number(t, name), want)
	}
	python := string(assert.Must(os.ReadFile("../pyembed/sdk/cog/_worker/serve/aioslot.py"))(t))
	assert.Contains(t, "the event loop's", python, fmt.Sprintf("\nSLOT_SHIFT = %d ", slotShift))
	page, slot, consumed := h.layout(t, "px_page"), h.layout(t, "px_slot_page"), h.layout(t, "px_consumed")
	out := h.layout(t, "px_out_page")
	for what, c := range map[string]struct{ got, want int64 }{
		"the page's size":     {page[""], PageSize},
		"a slot's size":       {slot[""], pageSlot},
		"magic":               {page["magic"], offMagic},
		"stdout's version":    {page["logs"] + consumed["version"], offStdout},
		"stdout's bytes":      {page["logs"] + consumed["bytes"], offStdout + 8},
		"stderr's version":    {page["logs"] + consumed[""] + consumed["version"], offStderr},
		"stderr's bytes":      {page["logs"] + consumed[""] + consumed["bytes"], offStderr + 8},
		"busy_poll":           {page["busy_poll"], offBusyPoll},
		"own stdout's bytes":  {page["own"] + consumed["bytes"], offOwn + 8},
		"own stderr's bytes":  {page["own"] + consumed[""] + consumed["bytes"], offOwn + 64 + 8},
		"own pipes ended":     {page["own_ended"], offOwnEnded},
		"own pipes full":      {page["own_full"], offOwnFull},
		"lost control":        {page["lost_control"], offLost},
		"score":               {page["score"], offScore},
		"crashed":             {page["crashed"], offCrashed},
		"interrupt":           {page["interrupt"], offInterrupt},
		"the slots":           {page["slots"], pageHeader},
		"what is unsent":      {page["outs"], pageHeader + MaxSlots*pageSlot},
		"a slot's unsent":     {out[""], pageOut},
		"its begin":           {out["begin"], offOutBegin},
		"its length":          {out["len"], offOutLen},
		"its data":            {out["data"], offOutData},
		"a slot's running":    {slot["running"], offRunning},
		"a slot's noticed":    {slot["noticed"], offNoticed},
		"a slot's given_up":   {slot["given_up"], offGivenUp},
		"a slot's paused":     {slot["paused"], offPaused},
		"a slot's cancel":     {slot["cancel"], offCancel},
		"a slot's claims":     {slot["claims"], offClaims},
		"a slot's steps":      {slot["steps"], offSteps},
		"a slot's stop":       {slot["stop"], offStop},
		"the end of the last": {slot["pad3"], offStop + 8},
	} {
		assert.Equal(t, what+": the header", c.got, c.want)
	}
}

// kinds returns the names of the kinds, with their values.
func kinds() map[string]uint64 {
	found := make(map[string]uint64)
	for value, name := range kindNames {
		if name != "" {
			found[name] = uint64(value)
		}
	}
	return found
}

func TestLayout_FramesOfWorker(t *testing.T) {
	h := readHeader(t, "../pyembed/channel_frame.h")
	for name, want := range map[string]uint64{"PX_HEADER": HeaderSize, "PX_INLINE_MAX": InlineMax} {
		assert.Equal(t, name, h.number(t, name), want)
	}
}
