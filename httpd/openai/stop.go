package openai

import "pinion/runtime/rawjson"

// stopSet are stop sequences, ready to be looked for by the algorithm of Knuth, Morris and Pratt.
type stopSet struct {
	stops []string
	// borders has for each sequence, and each of its prefixes, the length of the longest border: of a proper prefix that
	// is a suffix too.
	borders [][]int32
	steps   int // comparisons that took it to make the borders; a test bounds them
}

func newStopSet(stops []string) *stopSet {
	s := &stopSet{stops: stops, borders: make([][]int32, len(stops))}
	for i, stop := range stops {
		borders := make([]int32, len(stop))
		for j := 1; j < len(stop); j++ {
			borders[j] = extend(stop, borders, borders[j-1], stop[j], &s.steps)
		}
		s.borders[i] = borders
	}
	return s
}

// extend returns how many bytes of a sequence a text ends with, if it ended with n of them before the byte c.
func extend(stop string, borders []int32, n int32, c byte, steps *int) int32 {
	for {
		*steps++
		switch {
		case stop[n] == c:
			return n + 1
		case n == 0:
			return 0
		}
		n = borders[n-1]
	}
}

// matcher looks for stop sequences in a text that comes in parts. A byte of the text takes two steps for each sequence,
// on average over the text, whatever the texts are.
type matcher struct {
	*stopSet
	matched []int32 // how many bytes of each sequence the text ends with
	size    int     // bytes of text so far
	steps   int     // comparisons so far; a test bounds them
}

func (s *stopSet) newMatcher() matcher {
	return matcher{stopSet: s, matched: make([]int32, len(s.stops))}
}

// add adds text. found is the sequence that begins first of those that end in it, "" if none does, and at is where it
// begins in the whole text. Nothing is added after a sequence was found.
func (m *matcher) add(text string) (found string, at int) {
	for i, stop := range m.stops {
		n := m.matched[i]
		for j := range len(text) {
			n = extend(stop, m.borders[i], n, text[j], &m.steps)
			if int(n) < len(stop) {
				continue
			}
			if begin := m.size + j + 1 - len(stop); found == "" || begin < at {
				found, at = stop, begin
			}
			break // it begins later where it comes again
		}
		m.matched[i] = n
	}
	m.size += len(text)
	return found, at
}

// pending returns the length of the longest end of the text that a sequence begins with.
func (m *matcher) pending() (longest int) {
	for _, n := range m.matched {
		longest = max(longest, int(n))
	}
	return longest
}

// stopper holds back items whose text may be the beginning of a stop sequence.
type stopper struct {
	match matcher
	held  []pendingItem
	text  []byte // of the held items
	found string // the stop sequence that ended the text
}

// setStop sets the stop sequences.
func (r *Request) setStop(stops []string) {
	if r.Stop = stops; len(stops) > 0 {
		r.stops = newStopSet(stops)
	}
}

// newStopper returns a stopper for a choice; without stop sequences, one that is not used.
func (r *Request) newStopper() stopper {
	if len(r.Stop) == 0 {
		return stopper{}
	}
	return stopper{match: r.stops.newMatcher()}
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
	if s.found != "" { // the model goes on until it sees that it is canceled
		return nil, true
	}
	brought := contentOf(item)
	sent := s.match.size - len(s.text)
	s.held = append(s.held, pendingItem{item, len(brought)})
	s.text = append(s.text, brought...)
	var at int
	if s.found, at = s.match.add(brought); s.found != "" {
		at -= sent
		for _, h := range s.held {
			if h.size > at {
				if at > 0 {
					out = append(out, next{text: string(s.text[:at]), cut: true})
				}
				break
			}
			out = append(out, next{item: h.item})
			at -= h.size
			s.text = s.text[h.size:]
		}
		s.held, s.text = nil, nil
		return out, true
	}
	safe := len(s.text) - s.match.pending()
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
	s.held, s.text = nil, nil
	return out
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
