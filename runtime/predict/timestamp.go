package predict

import (
	"sync/atomic"
	"time"
)

// timestamper writes times as RFC 3339 in UTC with microseconds. It caches the text of the last second, because
// splitting a time into a date is the expensive part.
type timestamper struct{ last atomic.Pointer[second] }

type second struct {
	unix int64
	text [19]byte // 2006-01-02T15:04:05
}

// append appends t without quotes. The year must have four digits.
func (s *timestamper) append(dst []byte, t time.Time) []byte {
	unix := t.Unix()
	sec := s.last.Load()
	if sec == nil || sec.unix != unix {
		sec = newSecond(unix)
		s.last.Store(sec)
	}
	dst = append(dst, sec.text[:]...)
	micro := t.Nanosecond() / 1000
	return append(dst, '.',
		byte('0'+micro/100000), byte('0'+micro/10000%10), byte('0'+micro/1000%10),
		byte('0'+micro/100%10), byte('0'+micro/10%10), byte('0'+micro%10), 'Z')
}

func newSecond(unix int64) *second {
	s := &second{unix: unix}
	time.Unix(unix, 0).UTC().AppendFormat(s.text[:0], "2006-01-02T15:04:05")
	return s
}
