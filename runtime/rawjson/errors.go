package rawjson

import "strconv"

// SyntaxError says where and how a document breaks the rules of Check.
type SyntaxError struct {
	Offset int    // of the first invalid byte; the length of the document if its end is missing
	Reason string // lower case, without the offset: "unexpected end", "invalid UTF-8"
}

func (e *SyntaxError) Error() string {
	return "invalid JSON at byte " + strconv.Itoa(e.Offset) + ": " + e.Reason
}
