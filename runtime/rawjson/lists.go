package rawjson

import "math"

// longList is from how many bytes on a list of numbers is worth remembering.
const longList = 256

// maxLists is how many are remembered.
const maxLists = 4

// Lists tells where the first long arrays of numbers stand in a document that was checked, so that readers need not go over
// them again. The zero value knows of none, which is always right.
type Lists struct {
	count uint32
	known [maxLists]listAt
}

// listAt is where an array stands, with its brackets.
type listAt struct{ start, end uint32 }

// CheckLists is Check that notes the long arrays of numbers.
func CheckLists(b []byte) (Lists, error) {
	var l Lists
	at, reason := scan(b, &l)
	if reason == "" {
		return l, nil
	}
	return Lists{}, &SyntaxError{Offset: at, Reason: reason}
}

// From is what l tells of the part of its document that begins at offset.
func (l *Lists) From(offset int) Lists {
	var part Lists
	for _, at := range l.known[:l.count] {
		if start := int(at.start); start >= offset {
			part.add(start-offset, int(at.end)-offset)
		}
	}
	return part
}

// Is tells whether l knows that from start to end there is an array of numbers.
func (l *Lists) Is(start, end int) bool { return end > start && l.end(start) == end }

// end is where the array that begins at start ends, or 0 if l does not know of it.
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
