package mcp

import (
	"slices"

	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

const markdown = "text/markdown"

// readmeURI returns the address of a model's README as a resource. A tool's name needs no escapes in it.
func readmeURI(m *protocol.Model) string { return "pinion://models/" + ToolName(m.Name) + "/README.md" }

// hasResources reports whether the server has its models' folders; a gateway has none.
func (r *request) hasResources() bool {
	return slices.ContainsFunc(r.models, func(m *protocol.Model) bool { return m.Readme != nil })
}

// listResources answers with the READMEs of the models, in the order of their names.
func (r *request) listResources() *rpcError {
	dst := append(addMember(r.open(), "resources"), '[')
	none := len(dst)
	for _, m := range sorted(r.models) {
		if m.Readme == nil || m.Readme() == "" {
			continue
		}
		dst = append(rawjson.Comma(dst, len(dst) > none), '{')
		dst = addText(dst, "uri", readmeURI(m))
		dst = addText(dst, "name", ToolName(m.Name)+"/README.md")
		dst = addText(dst, "title", "README of "+m.Name)
		dst = append(addText(dst, "mimeType", markdown), '}')
	}
	r.send(r.addCaching(append(dst, ']')))
	return nil
}

// readResource answers with the README of a model, as its folder has it now.
func (r *request) readResource() *rpcError {
	uri, ok := r.textMember("uri")
	if !ok {
		return refusal(codeParams, "resources/read requires the parameter uri, a string")
	}
	for _, m := range r.models {
		if m.Readme == nil || readmeURI(m) != uri {
			continue
		}
		text := m.Readme()
		if text == "" {
			break
		}
		dst := append(addMember(r.open(), "contents"), "[{"...)
		dst = addText(dst, "uri", uri)
		dst = addText(dst, "mimeType", markdown)
		r.send(r.addCaching(append(addText(dst, "text", text), "}]"...)))
		return nil
	}
	code := codeParams
	if !r.modern {
		code = codeResource
	}
	bad := refusal(code, "unknown resource %s: resources/list has those of this server", logtext.Clip(uri))
	bad.data = append(addText([]byte{'{'}, "uri", logtext.Clip(uri)), '}')
	return bad
}
