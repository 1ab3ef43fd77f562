package predict

import (
	"slices"

	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// maxUnknownKeys bounds how many unknown keys a client can make the server log.
const maxUnknownKeys = 20

// UnknownKeys are the keys of a request, outside the input, that its protocol does not have.
type UnknownKeys struct {
	Names []string // clipped; of very many only the first
	Known []string // what the request may have
	Place string   // the key under which the model's inputs belong
}

// Add adds a key, as it is in the JSON.
func (u *UnknownKeys) Add(key []byte) {
	if name := logtext.Clip(rawjson.KeyText(key)); len(u.Names) < maxUnknownKeys && !slices.Contains(u.Names, name) {
		u.Names = append(u.Names, name)
	}
}
