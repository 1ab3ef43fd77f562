package mcp

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"pinion/httpd/protocol"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// maxInline is the largest file in bytes that is part of a result. Of a larger one the result has a link.
const maxInline = 1 << 20

// appendOutput appends the members of a successful result. Texts and JSON are the output's own bytes.
func (c *call) appendOutput(dst []byte, of *predict.Record) [][]byte {
	output := of.Output
	if output == nil {
		output = []byte("null")
	}
	dst = append(addMember(dst, "content"), '[')
	structured := c.tool.oldStructure
	if c.modern {
		structured = c.tool.newStructure
	}
	if c.tool.files && bytes.Contains(output, []byte(`"data:`)) {
		dst, output = c.appendFiles(dst, of.ID, output)
	} else if c.tool.files && rawjson.KindOf(output) == rawjson.KindString {
		if address := rawjson.Text(output); strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://") {
			dst, output = appendLink(dst, address, path.Base(address), "", 0), nil // it was uploaded
		}
	}
	var parts [][]byte
	text := `{"type":"text","text":`
	if dst[len(dst)-1] == '}' {
		text = "," + text
	}
	switch {
	case output == nil, rawjson.KindOf(output) == rawjson.KindNull && !structured: // files alone, or nothing
		parts = append(parts, dst)
	case c.tool.text && rawjson.KindOf(output) == rawjson.KindArray:
		parts = append(parts, append(joinText(append(dst, text...), output), '}'))
	case rawjson.KindOf(output) == rawjson.KindString && !structured:
		parts = append(parts, append(dst, text...), output, []byte{'}'})
	default:
		parts = append(parts, append(rawjson.AppendQuotedBytes(append(dst, text...), output), '}'))
	}
	if structured {
		return append(parts, []byte(`],"structuredContent":`), output, []byte(`,"isError":false`))
	}
	return append(parts, []byte(`],"isError":false`))
}

// joinText appends the texts of a list as one.
func joinText(dst, list []byte) []byte {
	dst = append(dst, '"')
	for _, item := range rawjson.Items(list) {
		if rawjson.KindOf(item) == rawjson.KindString {
			dst = append(dst, item[1:len(item)-1]...)
		}
	}
	return append(dst, '"')
}

// appendFiles appends the files of an output, and returns what is left of it: nil if it is files alone, else the output with
// links in their places.
func (c *call) appendFiles(dst []byte, id string, output []byte) (content, rest []byte) {
	at := 0
	for number, file := range protocol.DataFiles(output) {
		link := c.link(id, number)
		dst = c.appendFile(rawjson.Comma(dst, dst[len(dst)-1] == '}'), file, link)
		begin := cap(output) - cap(file.Raw)
		rest = rawjson.AppendQuoted(append(rest, output[at:begin]...), link)
		at = begin + len(file.Raw)
	}
	switch kind := rawjson.KindOf(output); {
	case rest == nil:
		return dst, output
	case kind == rawjson.KindString, kind == rawjson.KindArray:
		return dst, nil
	}
	return dst, append(rest, output[at:]...)
}

// link returns the address of a file of a prediction.
func (c *call) link(id string, number int) string {
	address := c.address
	if len(c.s.models.List()) > 1 || ToolName(c.model.Name) == c.model.Name { // else it may have routes at the root alone
		address += "/models/" + url.PathEscape(c.model.Name)
	}
	return address + "/predictions/" + url.PathEscape(id) + "/files/" + strconv.Itoa(number)
}

// appendFile appends a file: a picture, a sound or another one.
func (c *call) appendFile(dst []byte, file protocol.DataFile, link string) []byte {
	if file.Size() > c.inline {
		return appendLink(dst, link, "file", file.Type, file.Size())
	}
	kind, _, _ := strings.Cut(file.Type, "/")
	switch kind {
	case "image", "audio":
		dst = append(append(append(dst, `{"type":"`...), kind...), `","data":"`...)
		dst = append(append(dst, file.Base64...), '"')
		return append(addText(dst, "mimeType", file.Type), '}')
	}
	dst = addText(append(dst, `{"type":"resource","resource":{`...), "uri", link)
	dst = addText(dst, "mimeType", file.Type)
	content, err := base64.StdEncoding.DecodeString(string(file.Base64))
	if kind == "text" && err == nil && utf8.Valid(content) {
		return append(rawjson.AppendQuotedBytes(addMember(dst, "text"), content), "}}"...)
	}
	return append(append(append(addMember(dst, "blob"), '"'), file.Base64...), `"}}`...)
}

// appendLink appends a link to a file. Its type and its size in bytes may be unknown.
func appendLink(dst []byte, address, name, media string, size int) []byte {
	dst = addText(append(dst, `{"type":"resource_link"`...), "uri", address)
	dst = addText(dst, "name", name)
	if media != "" {
		dst = addText(dst, "mimeType", media)
		dst = strconv.AppendInt(addMember(dst, "size"), int64(size), 10)
	}
	return append(dst, '}')
}
