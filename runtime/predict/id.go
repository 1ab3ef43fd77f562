package predict

import (
	"encoding/base32"
	"encoding/binary"
	"math/rand/v2"
	"time"
)

// idEncoding is base32 in lower case, without padding: 16 bytes become 26 characters. The "extended hex" alphabet
// (RFC 4648, section 7) sorts like the bytes; the usual one, with digits after letters, does not.
var idEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// NewID returns a UUID of version 7 (RFC 9562) in base32, so that ids sort by time. Ids are not secrets.
func NewID(now time.Time) string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], uint64(now.UnixMilli())<<16|0x7000|rand.Uint64()&0x0fff)
	binary.BigEndian.PutUint64(id[8:], 1<<63|rand.Uint64()>>2)
	var text [26]byte
	idEncoding.Encode(text[:], id[:])
	return string(text[:])
}
