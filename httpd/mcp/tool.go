package mcp

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync/atomic"

	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
)

// tool is a model as a tool, made from the document that the model had then.
type tool struct {
	document []byte
	summary  string
	// old and new are its JSON for clients of 2025 and of 2026: only the latter take outputs that are no objects.
	old, new     []byte
	oldStructure bool // old has an outputSchema
	newStructure bool
	text         bool         // the output is a text, also if it comes in pieces
	files        bool         // the output may have files, or is not known
	task         bool         // a call is a task at once
	took         atomic.Int64 // how long the last prediction took that was noted, in nanoseconds
}

// maxToolName is how many characters a tool's name has at most.
const maxToolName = 64

// ToolName returns the name of a model's tool: the model's, with "_" for what language models' APIs do not take.
func ToolName(model string) string {
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}
	if strings.ContainsFunc(model, other) {
		model = strings.Map(func(r rune) rune {
			if other(r) {
				return '_'
			}
			return r
		}, model)
	}
	return model[:min(len(model), maxToolName)]
}

// find returns the model of a tool, or nil. Of several models with one tool it is the first by name, as tools/list has it.
func (r *request) find(name string) (found *protocol.Model) {
	for _, m := range r.models {
		if ToolName(m.Name) == name && (found == nil || m.Name < found.Name) {
			found = m
		}
	}
	return found
}

// toolOf returns the tool of a model that has this document.
func (s *server) toolOf(m *protocol.Model, document []byte) *tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.tools[m.Name]
	if known == nil || len(known.document) != len(document) || len(document) > 0 && &known.document[0] != &document[0] ||
		known.summary != m.Summary {
		known = newTool(m, document)
		s.tools[m.Name] = known
	}
	return known
}

// listTools answers with the tools, in the order of their names. A model that has no document before it is loaded is not
// among them.
func (r *request) listTools() *rpcError {
	dst := append(addMember(r.open(), "tools"), '[')
	for i, t := range r.tools() {
		dst = rawjson.Comma(dst, i > 0)
		if r.modern {
			dst = append(dst, t.new...)
		} else {
			dst = append(dst, t.old...)
		}
	}
	r.send(r.addCaching(append(dst, ']')))
	return nil
}

// tools returns the tools, in the order of their names.
func (r *request) tools() (list []*tool) {
	for _, m := range r.byName() {
		document, _ := m.OpenAPI()
		list = append(list, r.s.toolOf(m, document))
	}
	return list
}

// byName returns the models that have a document, in the order of their names.
func (r *request) byName() []*protocol.Model {
	list := slices.DeleteFunc(sorted(r.models), func(m *protocol.Model) bool { _, ok := m.OpenAPI(); return !ok })
	return slices.CompactFunc(list, func(a, b *protocol.Model) bool { return ToolName(a.Name) == ToolName(b.Name) })
}

// sorted returns models in the order of their names.
func sorted(models []*protocol.Model) []*protocol.Model {
	list := slices.Clone(models)
	slices.SortFunc(list, func(a, b *protocol.Model) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// newTool makes the tool of a model.
func newTool(m *protocol.Model, document []byte) *tool {
	t := &tool{document: document, summary: m.Summary, files: true}
	if rawjson.Check(document) != nil { // it was made by hand
		document = nil
	}
	dst := addText([]byte{'{'}, "name", ToolName(m.Name))
	annotations := member(member(member(member(document, "paths"), "/predictions"), "post"), "x-cog-tool")
	dst = addText(dst, "title", cmp.Or(textOf(member(annotations, "title")), m.Name))
	if text := cmp.Or(m.Summary, firstParagraph(member(member(document, "info"), "description"))); text != "" {
		dst = addText(dst, "description", text)
	}
	dst = addAnnotations(dst, annotations)
	t.task = string(member(annotations, "task")) == "true"
	translate := translator{components: member(member(document, "components"), "schemas")}
	dst = append(addMember(dst, "inputSchema"), t.inputs(&translate)...)
	t.old, t.new = append(bytes.Clone(dst), '}'), append(bytes.Clone(dst), '}')
	signature, err := protocol.ReadSignature(document)
	if err != nil {
		return t
	}
	t.text = signature.Output.Kind == protocol.Text && (!signature.Iterator || signature.Concatenate)
	t.files = hasFiles(&signature.Output, 0)
	translate.outputs = true
	output := translate.root("Output")
	if t.text || t.files && signature.Output.Kind != protocol.Object || !saysType(output) {
		return t
	}
	withOutput := append(append(addMember(dst, "outputSchema"), output...), '}')
	t.new, t.newStructure = withOutput, true
	if string(member(output, "type")) == `"object"` {
		t.old, t.oldStructure = withOutput, true
	}
	return t
}

// hints are the annotations of a tool, by the names that @cog.tool has for them.
var hints = [...][2]string{
	{"read_only", "readOnlyHint"}, {"destructive", "destructiveHint"}, {"idempotent", "idempotentHint"}, {"open_world", "openWorldHint"},
}

// addAnnotations appends what the model says of its effects with @cog.tool. Without it there are none: clients then expect the worst.
func addAnnotations(dst, told []byte) []byte {
	none := len(dst)
	dst = append(addMember(dst, "annotations"), '{')
	some := len(dst)
	for _, hint := range hints {
		if value := member(told, hint[0]); rawjson.KindOf(value) == rawjson.KindBool {
			dst = append(addMember(dst, hint[1]), value...)
		}
	}
	if len(dst) == some {
		return dst[:none]
	}
	return append(dst, '}')
}

// saysType reports whether a schema says more than that there is a value.
func saysType(schema []byte) bool {
	return member(schema, "type") != nil || member(schema, "anyOf") != nil || member(schema, "enum") != nil
}

// inputs returns the schema of the arguments.
func (t *tool) inputs(translate *translator) []byte {
	schema := translate.root("Input")
	if string(member(schema, "type")) != `"object"` {
		return []byte(`{"type":"object"}`)
	}
	return schema
}

// hasFiles reports whether a value may have files.
func hasFiles(v *protocol.Value, depth int) bool {
	switch {
	case depth > maxNesting:
		return false
	case v.Kind == protocol.File, v.Kind == protocol.Any:
		return true
	case v.Kind == protocol.List && v.Item != nil:
		return hasFiles(v.Item, depth+1)
	case v.Kind == protocol.Object && len(v.Members) == 0: // of any values
		return true
	}
	return slices.ContainsFunc(v.Members, func(f protocol.Field) bool { return hasFiles(&f.Value, depth+1) })
}

// firstParagraph returns the text before the first blank line.
func firstParagraph(raw []byte) string {
	text, _, _ := strings.Cut(strings.TrimSpace(textOf(raw)), "\n\n")
	return strings.TrimSpace(text)
}

// textOf returns a JSON text, or "" for another value.
func textOf(raw []byte) string {
	if rawjson.KindOf(raw) != rawjson.KindString {
		return ""
	}
	return rawjson.Text(raw)
}
