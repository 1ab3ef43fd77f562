package predict

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"pinion/tests/assert"
)

// TestId_NewID: 26 characters of base32, of which no two are alike.
func TestId_NewID(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-v]{26}$`)
	seen := make(map[string]bool)
	for range 100_000 {
		id := NewID(epoch) // all in one millisecond
		assert.TrueNow(t, form.MatchString(id), "%q is not 26 characters of base32, want a match of %s", id, form)
		assert.TrueNow(t, !seen[id], "%q came twice, want seen[id] false", id)
		seen[id] = true
	}
}

// TestIDs_SortByTime as texts.
func TestIDs_SortByTime(t *testing.T) {
	var ids []string
	for at := epoch; len(ids) < 50_000; at = at.Add(time.Duration(len(ids)) * time.Millisecond) {
		ids = append(ids, NewID(at))
		at = at.Add(time.Millisecond)
	}
	assert.True(t, slices.IsSorted(ids),
		"ids that were made later do not sort behind")
}

// TestID_IsUUID of version 7 (RFC 9562): the time in milliseconds, the version, the variant.
func TestID_IsUUID(t *testing.T) {
	for range 1000 {
		raw := assert.Must(idEncoding.DecodeString(NewID(epoch)))(t)
		assert.EqualNow(t, "length of the raw id", len(raw), 16)
		var ms int64
		for _, b := range raw[:6] {
			ms = ms<<8 | int64(b)
		}
		assert.EqualNow(t, "ms", ms, epoch.UnixMilli())
		assert.EqualNow(t, "raw[6]>>4", raw[6]>>4, 7)
		assert.EqualNow(t, "raw[8]>>6", raw[8]>>6, 0b10)
	}
}
