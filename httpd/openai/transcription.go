package openai

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"pinion/runtime/rawjson"
)

// transcript is what a transcriptions function returned.
type transcript struct {
	text     []byte // the inside of a JSON string
	segments []byte // JSON, or nil
	rest     []member
}

// readTranscript reads an output: a text, its items, or a dict with text and segments.
func readTranscript(output []byte) (*transcript, *Error) {
	t := &transcript{}
	switch rawjson.KindOf(output) {
	case text:
		t.text = inside(output)
		return t, nil
	case array:
		var m message
		for _, item := range rawjson.Items(output) {
			if err := m.add(item); err != nil {
				return nil, err
			}
		}
		t.text = m.content
		return t, nil
	case object:
	default:
		return nil, BadOutput("The model returned " + typeOf(output) +
			"; a transcriptions function returns str, or a dict with text and segments.")
	}
	hasText := false
	for key, value := range rawjson.Members(output) {
		switch name := rawjson.KeyText(key); {
		case name == "text" && rawjson.KindOf(value) == text:
			t.text, hasText = inside(value), true
		case name == "segments" && rawjson.KindOf(value) == array:
			t.segments = value
		case rawjson.KindOf(value) != rawjson.KindNull:
			var err *Error
			if t.rest, err = joinMember(t.rest, name, value); err != nil {
				return nil, err
			}
		}
	}
	if !hasText {
		segments, err := readSegments(t.segments)
		if err != nil {
			return nil, err
		}
		for _, s := range segments {
			t.text = append(t.text, inside(s.text)...)
		}
	}
	return t, nil
}

// segment is a part of a transcript.
type segment struct {
	start, end float64 // seconds
	text       []byte  // a JSON string
	rest       []member
	id         []byte
}

func readSegments(list []byte) ([]segment, *Error) {
	var segments []segment
	for _, item := range rawjson.Items(list) {
		s := segment{start: math.NaN(), end: math.NaN()}
		for key, value := range rawjson.Members(item) {
			switch name := rawjson.KeyText(key); name {
			case "start":
				s.start = seconds(value)
			case "end":
				s.end = seconds(value)
			case "text":
				if rawjson.KindOf(value) == text {
					s.text = value
				}
			case "id":
				s.id = value
			default:
				if rawjson.KindOf(value) == rawjson.KindNull { // as if it were left out
					continue
				}
				var err *Error
				if s.rest, err = joinMember(s.rest, name, value); err != nil {
					return nil, err
				}
			}
		}
		if math.IsNaN(s.start) || math.IsNaN(s.end) || s.text == nil {
			return nil, BadOutput("The model returned segments of which one lacks start, end or text.")
		}
		segments = append(segments, s)
	}
	return segments, nil
}

func seconds(value []byte) float64 {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f < 0 || f > 1e9 {
		return math.NaN()
	}
	return f
}

// answerTranscription returns the answer of a transcription and its type.
func (r *Request) answerTranscription(results []Result) ([]byte, string, *Error) {
	t, err := readTranscript(results[0].Output)
	if err != nil {
		return nil, "", err
	}
	switch r.format {
	case "json":
		return append(append([]byte(`{"text":"`), t.text...), `"}`...), ContentJSON, nil
	case "text":
		return []byte(t.plain()), contentText, nil
	}
	if r.untimed = t.segments == nil; r.untimed && r.format != "verbose_json" {
		return nil, "", WrongValue("response_format",
			"'"+r.format+"' needs the times of segments, and this model returns text alone; use 'json' or 'text'.")
	}
	segments, err := readSegments(t.segments)
	if err != nil {
		return nil, "", err
	}
	switch r.format {
	case "srt":
		return subtitles(segments, "", ','), contentText, nil
	case "vtt":
		return subtitles(segments, "WEBVTT\n\n", '.'), "text/vtt; charset=utf-8", nil
	}
	return t.verbose(segments), ContentJSON, nil
}

func (t *transcript) plain() string {
	return rawjson.Text(append(append([]byte{'"'}, t.text...), '"'))
}

// verbose returns the answer with segments. What the model does not say is filled in, as far as its segments tell.
func (t *transcript) verbose(segments []segment) []byte {
	dst := []byte(`{"task":"transcribe"`)
	var duration float64
	for _, s := range segments {
		duration = max(duration, s.end)
	}
	if find(t.rest, "duration") == nil {
		dst = strconv.AppendFloat(append(dst, `,"duration":`...), duration, 'f', -1, 64)
	}
	if find(t.rest, "language") == nil {
		dst = append(dst, `,"language":""`...)
	}
	for _, m := range t.rest {
		if m.name != "task" {
			dst = appendMembers(dst, []member{m})
		}
	}
	dst = append(append(append(dst, `,"text":"`...), t.text...), `","segments":[`...)
	for i, s := range segments {
		dst = rawjson.Comma(dst, i > 0)
		dst = append(dst, `{"id":`...)
		if s.id != nil {
			dst = append(dst, s.id...)
		} else {
			dst = strconv.AppendInt(dst, int64(i), 10)
		}
		dst = strconv.AppendFloat(append(dst, `,"start":`...), s.start, 'f', -1, 64)
		dst = strconv.AppendFloat(append(dst, `,"end":`...), s.end, 'f', -1, 64)
		dst = append(append(dst, `,"text":`...), s.text...)
		dst = appendMembers(dst, s.rest)
		// OpenAI's segments have all of these, and strict clients refuse one that lacks any.
		for _, name := range []string{"seek", "tokens", "temperature", "avg_logprob", "compression_ratio", "no_speech_prob"} {
			if find(s.rest, name) != nil {
				continue
			}
			none := "0"
			if name == "tokens" {
				none = "[]"
			}
			dst = append(append(append(dst, `,"`+name...), `":`...), none...)
		}
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// subtitles returns segments as SubRip (numbered) or WebVTT.
func subtitles(segments []segment, head string, point byte) []byte {
	var out strings.Builder
	out.WriteString(head)
	for i, s := range segments {
		if head == "" {
			fmt.Fprintln(&out, i+1)
		}
		fmt.Fprintf(&out, "%s --> %s\n", timestamp(s.start, point), timestamp(s.end, point))
		// A blank line would end the cue, and an arrow begin one.
		text := strings.ReplaceAll(rawjson.Text(s.text), "-->", "->")
		lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
		out.WriteString(strings.TrimSpace(strings.Join(lines, "\n")) + "\n\n")
	}
	return []byte(out.String())
}

func timestamp(seconds float64, point byte) string {
	ms := int64(math.Round(seconds * 1000))
	return fmt.Sprintf("%02d:%02d:%02d%c%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, point, ms%1000)
}
