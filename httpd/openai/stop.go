package openai

import (
	"strings"

	"pinion/runtime/rawjson"
)

// firstStop returns where the first stop sequence begins, or -1 if the text has none.
func firstStop(whole string, stops []string) int {
	first := -1
	for _, s := range stops {
		if at := strings.Index(whole, s); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// stopAt returns the stop sequence that a text begins with.
func stopAt(rest string, stops []string) string {
	for _, s := range stops {
		if strings.HasPrefix(rest, s) {
			return s
		}
	}
	return ""
}

// stopper holds back items whose text may be the beginning of a stop sequence.
type stopper struct {
	stops []string
	held  []pendingItem
	text  string // of the held items
	found string // the stop sequence that ended the text
}

// pendingItem is an item and how much text it brings.
type pendingItem struct {
	item []byte
	size int
}

// next is an item to be sent. cut is how much of its text is sent if the choice ends there.
type next struct {
	item []byte
	text string
	cut  bool
}

// add takes an item, and returns those that can be sent. stopped means that a stop sequence was found, and nothing
// follows.
func (s *stopper) add(item []byte) (out []next, stopped bool) {
	brought := contentOf(item)
	s.held = append(s.held, pendingItem{item, len(brought)})
	s.text += brought
	if at := firstStop(s.text, s.stops); at >= 0 {
		s.found = stopAt(s.text[at:], s.stops)
		for _, h := range s.held {
			if h.size <= at {
				out = append(out, next{item: h.item})
				at -= h.size
				s.text = s.text[h.size:]
				continue
			}
			if at > 0 {
				out = append(out, next{text: s.text[:at], cut: true})
			}
			break
		}
		s.held, s.text = nil, ""
		return out, true
	}
	safe := len(s.text) - s.suspicious()
	for len(s.held) > 0 && s.held[0].size <= safe {
		h := s.held[0]
		out = append(out, next{item: h.item})
		s.held, s.text, safe = s.held[1:], s.text[h.size:], safe-h.size
	}
	return out, false
}

// flush returns the items that are held at the end.
func (s *stopper) flush() (out []next) {
	for _, h := range s.held {
		out = append(out, next{item: h.item})
	}
	s.held, s.text = nil, ""
	return out
}

// suspicious returns the length of the longest end of the text that a stop sequence begins with.
func (s *stopper) suspicious() int {
	longest := 0
	for _, stop := range s.stops {
		for n := min(len(stop)-1, len(s.text)); n > longest; n-- {
			if strings.HasSuffix(s.text, stop[:n]) {
				longest = n
				break
			}
		}
	}
	return longest
}

// contentOf returns the text that an item brings.
func contentOf(item []byte) string {
	switch rawjson.KindOf(item) {
	case text:
		return rawjson.Text(item)
	case object:
		for _, name := range [...]string{"content", "text"} {
			if value := Member(item, name); rawjson.KindOf(value) == text {
				return rawjson.Text(value)
			}
		}
	}
	return ""
}
