package ventu

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

// idLength is the length of an id: a UUID as text.
const idLength = 36

type id [idLength]byte

// newID makes a random UUID, version 4. Go's generator cannot be foretold by a worker or client.
func newID() (text id) {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], rand.Uint64())
	binary.BigEndian.PutUint64(raw[8:], rand.Uint64())
	raw[6] = raw[6]&0x0f | 0x40
	raw[8] = raw[8]&0x3f | 0x80
	hex.Encode(text[:8], raw[:4])
	hex.Encode(text[9:13], raw[4:6])
	hex.Encode(text[14:18], raw[6:8])
	hex.Encode(text[19:23], raw[8:10])
	hex.Encode(text[24:], raw[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return text
}
