package rawjson

import "math"

// longList is the least size in bytes of a list of numbers that is recorded.
const longList = 256

// maxLists is how many lists are recorded.
const maxLists = 4

// Lists has the offsets of the first long arrays of numbers in a checked document, so that readers can skip them. The
// zero value has none, which is always valid.
type Lists struct {
	count uint32
	known [maxLists]listAt
}

// listAt has the offsets of an array, with its brackets.
type listAt struct{ start, end uint32 }

// CheckLists is Check, and records the long arrays of numbers.
func CheckLists(b []byte) (Lists, error) {
	var l Lists
	at, reason := scan(b, &l)
	if reason == "" {
		return l, nil
	}
	return Lists{}, &SyntaxError{Offset: at, Reason: explain(b, at, reason)}
}

// From returns the lists of the part of the document that begins at offset.
func (l *Lists) From(offset int) Lists {
	var part Lists
	for _, at := range l.known[:l.count] {
		if start := int(at.start); start >= offset {
			part.add(start-offset, int(at.end)-offset)
		}
	}
	return part
}

// Is reports whether l has an array of numbers from start to end.
func (l *Lists) Is(start, end int) bool { return end > start && l.end(start) == end }

// end returns the end of the array that begins at start, or 0 if l does not have it.
func (l *Lists) end(start int) int {
	for _, at := range l.known[:l.count] {
		if int(at.start) == start {
			return int(at.end)
		}
	}
	return 0
}

func (l *Lists) add(start, end int) {
	if end-start >= longList && l.count < maxLists && end <= math.MaxUint32 {
		l.known[l.count] = listAt{uint32(start), uint32(end)}
		l.count++
	}
}
