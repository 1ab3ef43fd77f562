package rawjson

import "strconv"

// SyntaxError says where a document breaks the rules of Check, and how.
type SyntaxError struct {
	Offset int    // the byte at which it can't go on; the length of the document for a missing end
	Reason string // lower case, without the place: "unexpected end", "invalid UTF-8"
}

func (e *SyntaxError) Error() string {
	return "invalid JSON at byte " + strconv.Itoa(e.Offset) + ": " + e.Reason
}
