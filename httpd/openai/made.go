package openai

import (
	"slices"
	"strings"

	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// madeFormat is the format that a client names for what the model makes; the zero value is any.
type madeFormat struct{ param, name string }

// wantMade notes the format of a parameter that the function does not take.
func (r *Request) wantMade(p parameter, value []byte) *Error {
	switch {
	case rawjson.KindOf(value) != p.kind:
		return WrongType(p.name, wanted(p.kind), value)
	case slices.Contains(p.neutral, string(value)):
		r.ignored = append(r.ignored, p.name)
	default:
		r.wanted = madeFormat{p.name, rawjson.Text(value)}
	}
	return nil
}

// check refuses a media type that is not of the format. Of bytes without a type it is not known.
func (f madeFormat) check(media string) *Error {
	media, _, _ = strings.Cut(strings.ToLower(media), ";")
	if f.name == "" || media == "" || media == contentBytes {
		return nil
	}
	_, made, _ := strings.Cut(media, "/")
	for _, prefix := range []string{"x-", "vnd."} {
		made = strings.TrimPrefix(made, prefix)
	}
	if made == f.name || slices.Contains(formatsOf(made), f.name) {
		return nil
	}
	return Unsupported(f.param,
		"the model's function does not take it, and makes "+media+", not '"+logtext.Clip(f.name)+"'")
}

// formatsOf returns the formats whose media types have another name.
func formatsOf(subtype string) []string {
	switch subtype {
	case "mpeg":
		return []string{"mp3"}
	case "wave":
		return []string{"wav"}
	case "ogg":
		return []string{"opus"}
	case "l16":
		return []string{"pcm"}
	case "jpeg":
		return []string{"jpg"}
	case "svg+xml":
		return []string{"svg"}
	}
	return nil
}
