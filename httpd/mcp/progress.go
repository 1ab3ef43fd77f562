package mcp

import (
	"bytes"
	"regexp"
	"strconv"

	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// progress writes a stream: what the model yields and how far its progress bar is, and at last the response. It implements
// protocol.WholeRenderer.
type progress struct {
	c     *call
	items int
	at    float64 // what was told last; it must grow
}

const (
	// maxMessage is how many bytes of JSON an item may have whose text is told as it comes.
	maxMessage = 16 << 10
	// maxInlineEvent is maxInline for a stream: clients take events of at most 1 MiB.
	maxInlineEvent = 512 << 10
)

// follow carries out the call, and answers with its events.
func (c *call) follow() {
	c.token, c.inline = bytes.Clone(c.token), maxInlineEvent
	run, err := c.begin(true)
	if err == nil {
		err = c.x.StreamEvents(run, &progress{c: c})
	}
	if err != nil {
		c.fail(err)
	}
}

// Whole implements protocol.WholeRenderer.
func (p *progress) Whole() {}

// Output tells that an item has come, and its text.
func (p *progress) Output(dst, item []byte, _ func([]byte) []byte) []byte {
	p.items++
	p.at = float64(p.items)
	if len(item) > maxMessage {
		item = nil
	}
	return p.tell(dst, 0, item)
}

// bar finds the counts of a bar of tqdm: "45/100 [".
var bar = regexp.MustCompile(`(\d+)/(\d+) \[`)

// Log tells how far a progress bar is, unless the items tell it.
func (p *progress) Log(dst, text []byte, _ func([]byte) []byte) []byte {
	if p.items > 0 || bytes.IndexByte(text, '%') < 0 {
		return dst
	}
	line := logtext.LastLine(string(text))
	percent, ok := logtext.Percent(line)
	at, total := float64(percent), 100.0
	if counts := bar.FindStringSubmatch(line); counts != nil {
		at, _ = strconv.ParseFloat(counts[1], 64)
		total, _ = strconv.ParseFloat(counts[2], 64)
	}
	if !ok || at <= p.at {
		return dst
	}
	p.at = at
	return p.tell(dst, total, rawjson.AppendQuoted(nil, line))
}

// tell appends a notification. total 0 means that it is not known; message is JSON, or nil.
func (p *progress) tell(dst []byte, total float64, message []byte) []byte {
	dst = append(dst, eventHead+`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
	dst = append(append(dst, p.c.token...), `,"progress":`...)
	dst = strconv.AppendFloat(dst, p.at, 'f', -1, 64)
	if total > 0 {
		dst = strconv.AppendFloat(append(dst, `,"total":`...), total, 'f', -1, 64)
	}
	switch {
	case message == nil:
	case rawjson.KindOf(message) == rawjson.KindString:
		dst = append(append(dst, `,"message":`...), message...)
	default:
		dst = rawjson.AppendQuotedBytes(append(dst, `,"message":`...), message)
	}
	return append(dst, "}}\n\n"...)
}

const eventHead = "event: message\ndata: "

// End appends the response.
func (p *progress) End(dst []byte, of *predict.Record, _ func([]byte) []byte) []byte {
	parts := p.c.appendResult(p.c.open(), of)
	dst = append(dst, eventHead...)
	for _, part := range parts {
		if bytes.IndexByte(part, '\n') >= 0 { // between tokens: it would end the event
			part = bytes.ReplaceAll(part, []byte{'\n'}, []byte{' '})
		}
		dst = append(dst, part...)
	}
	return append(dst, "}}\n\n"...)
}

var _ protocol.WholeRenderer = (*progress)(nil)
