package predict

import (
	"encoding/base32"
	"encoding/binary"
	"math/rand/v2"
	"time"
)

// idEncoding is base32 in lower case, without padding: 16 bytes are 26 characters. The alphabet is
// "extended hex" (RFC 4648, section 7): the usual one has its digits after its letters, and texts made
// with it do not sort like the bytes.
var idEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// NewID makes an id: a UUID of version 7 (RFC 9562), so that ids sort by time, in base32. Ids tell
// predictions apart; they are not secrets.
func NewID(now time.Time) string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], uint64(now.UnixMilli())<<16|0x7000|rand.Uint64()&0x0fff)
	binary.BigEndian.PutUint64(id[8:], 1<<63|rand.Uint64()>>2)
	var text [26]byte
	idEncoding.Encode(text[:], id[:])
	return string(text[:])
}
