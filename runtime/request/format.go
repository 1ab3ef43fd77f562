package request

import "bytes"

const (
	// TypeJSON is the media type of JSON.
	TypeJSON = "application/json"
	// TypeMsgPack is the usual media type of MessagePack.
	TypeMsgPack = "application/msgpack"
)

// Format is the format of a request's body.
type Format uint8

const (
	JSON     Format = iota
	MsgPack         // MessagePack
	FormData        // multipart/form-data
)

// FormatOf returns the format of a Content-Type, or false if it is another one.
func FormatOf(contentType []byte) (Format, bool) {
	switch {
	case IsJSON(contentType):
		return JSON, true
	case IsMsgPack(contentType):
		return MsgPack, true
	case isForm(contentType):
		return FormData, true
	}
	return 0, false
}

func trim(b []byte) []byte { return bytes.Trim(b, " \t") }

// IsMsgPack reports whether a media type is MessagePack: the IANA name, or one that libraries use.
func IsMsgPack(contentType []byte) bool {
	t, _, _ := bytes.Cut(contentType, []byte{';'})
	switch string(bytes.ToLower(trim(t))) {
	case "application/vnd.msgpack", TypeMsgPack, "application/x-msgpack":
		return true
	}
	return false
}

func isForm(contentType []byte) bool {
	t, _, _ := bytes.Cut(contentType, []byte{';'})
	return bytes.EqualFold(trim(t), []byte("multipart/form-data"))
}

// IsJSON reports whether a Content-Type is JSON. An absent one counts as JSON. Parameters are ignored, since JSON is
// always UTF-8.
func IsJSON(contentType []byte) bool {
	if len(contentType) == 0 || string(contentType) == TypeJSON {
		return true
	}
	t, _, _ := bytes.Cut(contentType, []byte{';'})
	t = bytes.ToLower(bytes.TrimSpace(t))
	sub, ok := bytes.CutPrefix(t, []byte("application/"))
	if !ok {
		return false
	}
	if string(sub) == "json" {
		return true
	}
	tree, ok := bytes.CutSuffix(sub, []byte("+json"))
	if !ok || len(tree) == 0 {
		return false
	}
	for _, b := range tree {
		if !isToken(b) {
			return false
		}
	}
	return true
}

// isToken reports whether b may be in a token of RFC 9110, section 5.6.2; b is not upper case.
func isToken(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', '0' <= b && b <= '9':
		return true
	}
	return bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), b) >= 0
}
