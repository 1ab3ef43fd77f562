package mcp

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

// TestTranslator goes through what OpenAPI 3.0 writes otherwise than JSON Schema.
func TestTranslator(t *testing.T) {
	const components = `{"Input":IN,"size":{"type":"string","enum":["s"],"x-order":1},"Node":{"type":"object","properties":{"next":{"$ref":"#/components/schemas/Node"}}}}`
	for in, want := range map[string]string{
		`{"type":"object","properties":{"x-a":{"type":"string","nullable":true,"x-order":0}}}`: `{"type":"object","properties":{"x-a":{"type":["string","null"]}}}`,
		`{"type":"string","enum":["a"],"nullable":true}`:                                       `{"type":["string","null"],"enum":["a",null]}`,
		`{"enum":[],"nullable":true}`:                                                          `{"enum":[null]}`,
		`{"anyOf":[{"type":"string"}],"nullable":true}`:                                        `{"anyOf":[{"type":"string"},{"type":"null"}]}`,
		`{"items":{"allOf":[{"$ref":"#/components/schemas/size"}],"nullable":true,"default":null}}`: `{"items":{"default":null,"anyOf":[{"allOf":[{"$ref":"#/$defs/size"}]},{"type":"null"}]},` +
			`"$defs":{"size":{"type":"string","enum":["s"]}}}`,
		`{"items":{"allOf":[{"$ref":"#/components/schemas/size"}]}}`:        `{"items":{"$ref":"#/$defs/size"},"$defs":{"size":{"type":"string","enum":["s"]}}}`,
		`{"$ref":"#/components/schemas/Node"}`:                              `{"type":"object","properties":{"next":{"$ref":"#/$defs/Node"}},"$defs":{"Node":{"type":"object","properties":{"next":{"$ref":"#/$defs/Node"}}}}}`,
		`{"items":{"$ref":"#/components/schemas/none"}}`:                    `{"items":{"$ref":"#/$defs/none"},"$defs":{"none":{}}}`,
		`{"$ref":"#/components/schemas/Input"}`:                             `{"$ref":"#/$defs/Input","$defs":{"Input":{"$ref":"#/$defs/Input"}}}`,
		`{"type":"integer","minimum":1,"exclusiveMinimum":true}`:            `{"type":"integer","exclusiveMinimum":1}`,
		`{"type":"integer","exclusiveMinimum":1}`:                           `{"type":"integer","exclusiveMinimum":1}`,
		`{"type":"string","format":"uri","x-cog-accept":"image/png, .jpg"}`: `{"type":"string","format":"uri","contentMediaType":"image/png"}`,
		`{"type":"string","x-cog-accept":".jpg"}`:                           `{"type":"string"}`,
		`{"example":{"a":1},"xml":{},"additionalProperties":true}`:          `{"examples":[{"a":1}],"additionalProperties":true}`,
		`{"additionalProperties":{"nullable":true,"type":"number"}}`:        `{"additionalProperties":{"type":["number","null"]}}`,
	} {
		translate := translator{components: []byte(replaceIn(components, in))}
		assert.Equal(t, in, string(translate.root("Input")), want)
	}
	outputs := translator{components: []byte(replaceIn(components, `{"type":"array","items":{"type":"object"}}`)), outputs: true}
	assert.Equal(t, "any value in an output", string(outputs.root("Input")), `{"type":"array","items":{}}`)
}

// TestToolName: a name is one that language models' APIs take.
func TestToolName(t *testing.T) {
	for name, want := range map[string]string{"a-B_9": "a-B_9", "hub/b.2": "hub_b_2", "é x": "__x"} {
		assert.Equal(t, name, ToolName(name), want)
	}
	assert.Equal(t, "the length of a long one", len(ToolName(string(make([]byte, 100)))), maxToolName)
}

func replaceIn(components, in string) string { return strings.Replace(components, "IN", in, 1) }

// FuzzMessage: no message panics, and what is read of one is inside it.
func FuzzMessage(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"m","_meta":{"progressToken":1}}}`, "2026-07-28", "m")
	f.Add(`{"jsonrpc":"2.0","id":"a","method":"tasks/get","params":{"taskId":"m.x"}}`, "", "=?base64?bQ==?=")
	f.Fuzz(func(t *testing.T, body, version, name string) {
		m, bad := readMessage([]byte(body))
		var h fasthttp.RequestHeader
		h.Set(headerVersion, version)
		h.Set(headerName, name)
		if m.isModern(&h) && bad == nil {
			bad = m.check(&h)
		}
		if bad != nil {
			assert.True(t, rawjson.Check(errorBody(m.id, bad)) == nil, "the error of %q is no JSON", body)
		} else {
			assert.True(t, m.method != "" || strings.Contains(body, `""`), "%q has no method", body)
		}
	})
}
