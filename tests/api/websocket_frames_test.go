package api

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const (
	final = harness.FinalFrame
	text  = harness.TextFrame
	more  = harness.Continuation
)

// TestWebSocketFrames_Messages: fragments, control frames between them, characters in pieces, all lengths.
func TestWebSocketFrames_Messages(t *testing.T) {
	t.Parallel()
	s := streamedServer(t, "Ends", harness.Options{})
	ws := talk(t, s, `{"input": {"how": "all"}}`)
	index := 0
	wait := func(what, want string) {
		t.Helper()
		harness.EqualJSON(t, what, ws.Wait("output").Data, fmt.Sprintf(`{"chunk":%q,"index":%d}`, want, index))
		index++
	}
	ws.Raw(harness.Frame(text, []byte(`"a`)))
	ws.Raw(harness.Frame(final|harness.PingFrame, []byte("between")))
	ws.Raw(harness.Frame(more, nil))
	for {
		first, payload := ws.Next()
		if first&15 == harness.PongFrame {
			assert.Equal(t, "the pong", string(payload), "between")
			break
		}
	}
	ws.Raw(harness.Frame(final|harness.PongFrame, []byte("of no ping")))
	ws.Raw(harness.Frame(final|more, []byte(`b"`)))
	wait("fragments", "ab")
	euro := `"` + "€" + `"`
	for i, part := range strings.Split(euro, "") {
		first := byte(more)
		if i == 0 {
			first = text
		}
		for j := range len(part) {
			if i == 2 {
				first = final | more
			}
			ws.Raw(harness.Frame(first, []byte{part[j]}))
			first = more
		}
	}
	wait("a character in pieces", "€")
	frame := harness.Frame(final|text, []byte(`"dripping"`))
	for i := range frame {
		ws.Raw(frame[i : i+1])
	}
	wait("byte by byte", "dripping")
	for _, size := range []int{1, 123, 124, 125, 126, 510, 511, 65532, 65533, 65534, 65535, 1 << 20} {
		ws.Send(`"` + strings.Repeat("x", size) + `"`)
		wait(fmt.Sprint(size), strings.Repeat("x", size))
	}
	all := new(bytes.Buffer)
	for i := range 10_000 {
		fmt.Fprintf(all, "%s", harness.Frame(final|text, fmt.Appendf(nil, `"%d"`, i)))
	}
	ws.Raw(all.Bytes()[:all.Len()/2])
	go ws.Raw(all.Bytes()[all.Len()/2:])
	for i := range 10_000 {
		m := ws.Wait("output")
		assert.TrueNow(t, strings.HasPrefix(string(m.Data), fmt.Sprintf(`{"chunk":"%d",`, i)), "got %s, want %d", m.Data, i)
	}
	ws.Send(`{"$end":true}`)
	ws.WantEnd("all", "succeeded", 1000, "")
}

// TestWebSocketFrames_Wrong frames close the connection, and hurt no other session.
func TestWebSocketFrames_Wrong(t *testing.T) {
	t.Parallel()
	s := streamedServer(t, "AsyncEnds", harness.Options{Args: []string{"--queue", "16", "--max-body", "1048576"}})
	other := talk(t, s, `{"input": {"how": "all"}}`)
	other.Wait("start")
	unmasked := []byte{final | text, 3, '"', 'a', '"'}
	for name, frames := range map[string][]byte{
		"no mask":                  unmasked,
		"a harness.Compressed bit": harness.Frame(final|0x20|text, []byte(`"a"`)),
		"compressed, not agreed":   harness.Frame(final|harness.Compressed|text, []byte(`"a"`)),
		"an unknown opcode":        harness.Frame(final|3, []byte(`"a"`)),
		"an unknown control":       harness.Frame(final|11, nil),
		"a fragmented ping":        harness.Frame(harness.PingFrame, nil),
		"a long ping":              harness.Frame(final|harness.PingFrame, make([]byte, 126)),
		"a continuation of none":   harness.Frame(final|more, []byte(`"a"`)),
		"a message within one":     append(harness.Frame(text, []byte(`"a`)), harness.Frame(final|text, []byte(`b"`))...),
		"a close with code 1005":   harness.Frame(final|harness.CloseFrame, []byte{3, 0xed}),
		"a close that is no text":  harness.Frame(final|harness.CloseFrame, []byte{3, 0xe8, 0xff}),
	} {
		ws := talk(t, s, `{"input": {"how": "all"}}`)
		ws.Wait("start")
		ws.Raw(frames)
		_, closed := ws.End()
		want := 1002
		if name == "a close that is no text" {
			want = closed.Code // 1002 or 1007
		}
		assert.Equal(t, name, closed.Code, want)
	}
	for name, c := range map[string]struct {
		code   int
		says   string
		frames []byte
	}{
		"no UTF-8":               {1007, "item 0: invalid JSON at byte 1: invalid UTF-8", harness.Frame(final|text, []byte("\"\xff\""))},
		"half a character":       {1007, "item 0: invalid JSON", harness.Frame(final|text, []byte("\"\xe2\x82\""))},
		"a surrogate in UTF-8":   {1007, "invalid UTF-8", harness.Frame(final|text, []byte("\"\xed\xa0\x80\""))},
		"no text at all":         {1007, "item 0: invalid JSON at byte 0: unexpected end", harness.Frame(final|text, nil)},
		"larger than --max-body": {1009, "item 0: the message is larger", harness.Frame(final|text, bytes.Repeat([]byte("x"), 2<<20))},
		"fragments without an end": {1009, "item 0: the message is larger", append(harness.Frame(text, []byte{'"'}),
			bytes.Repeat(harness.Frame(more, bytes.Repeat([]byte("x"), 100)), 12_000)...)},
	} {
		ws := talk(t, s, `{"input": {"how": "all"}}`)
		ws.Wait("start")
		ws.Raw(c.frames)
		p, closed := ws.End()
		assert.Equal(t, name, fmt.Sprint(p.Status, closed.Code), fmt.Sprint("failed", c.code))
		assert.Contains(t, name, closed.Reason, c.says)
	}
	other.Send(`"a"`)
	other.Wait("output")
	other.Send(`{"$end":true}`)
	other.WantEnd("the other session", "succeeded", 1000, "")
}

// TestWebSocketFrames_Compression of messages, if the client asks for it.
func TestWebSocketFrames_Compression(t *testing.T) {
	t.Parallel()
	s := streamedServer(t, "Ends", harness.Options{Args: []string{"--max-body", "1048576", "--queue", "4"}})
	plain := talk(t, s, `{"input": {"how": "early"}}`)
	assert.Equal(t, "not asked for", plain.Answer.Header.Get("Sec-WebSocket-Extensions"), "")
	plain.WantEnd("not asked for", "succeeded", 1000, "")
	deflate := func(data string) []byte {
		out := new(bytes.Buffer)
		w := assert.Must(flate.NewWriter(out, 9))(t)
		_, _ = io.WriteString(w, data)
		_ = w.Flush()
		return bytes.TrimSuffix(out.Bytes(), []byte{0, 0, 0xff, 0xff})
	}
	ask := []string{"Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits"}
	ws := talk(t, s, `{"input": {"how": "all"}}`, ask...)
	assert.Contains(t, "asked for", ws.Answer.Header.Get("Sec-WebSocket-Extensions"), "permessage-deflate")
	word := strings.Repeat("word", 1000)
	ws.Raw(harness.Frame(final|harness.Compressed|text, deflate(`"`+word+`"`)))
	assert.Contains(t, "the output", string(ws.Wait("output").Data), `{"chunk":"`+word+`","index":0`)
	assert.True(t, ws.Deflated, "got a message that is not compressed")
	ws.Send(`"few"`)
	ws.Wait("output")
	assert.False(t, ws.Deflated, "got a small message compressed")
	ws.Raw(harness.Frame(final|harness.Compressed|text, deflate(`"`+strings.Repeat("0", 64<<20)+`"`)))
	_, closed := ws.End()
	assert.Equal(t, "what inflates to more than --max-body", closed.Code, 1009)
	ws = talk(t, s, `{"input": {"how": "all"}}`, ask...)
	ws.Raw(harness.Frame(final|harness.Compressed|text, []byte("\xff\xff\xff")))
	_, closed = ws.End()
	assert.True(t, closed.Code >= 1002 && closed.Code <= 1007, "rubbish: got %d, want a close code of the protocol", closed.Code)
}
