package ventu

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tinylib/msgp/msgp"

	"pinion/tests/assert"
)

// talk is a connection on which a worker has sent all that it sends.
type talk struct{ io.Reader }

func (talk) SetReadDeadline(time.Time) error { return nil }

// jobsOf makes jobs with ids of one repeated character.
func jobsOf(names string) (jobs []*Job) {
	for _, c := range names {
		jobs = append(jobs, &Job{id: id([]byte(strings.Repeat(string(c), idLength)))})
	}
	return jobs
}

// readAnswers reads one message.
func readAnswers(from io.Reader, most int64, jobs []*Job) ([]answer, error) {
	r := newReader(&stallReader{conn: talk{from}, bound: time.Hour}, most)
	n, err := r.length()
	if err != nil {
		return nil, err
	}
	return r.answers(n, jobs)
}

// TestReader_Encodings reads every form that a str, bin or map may have, byte by byte.
func TestReader_Encodings(t *testing.T) {
	a, b := strings.Repeat("a", idLength), strings.Repeat("b", idLength)
	str := func(form byte, text string) []byte {
		n := len(text)
		switch form {
		case msgStr8, msgBin8:
			return append([]byte{form, byte(n)}, text...)
		case msgStr16, msgBin16:
			return append(binary.BigEndian.AppendUint16([]byte{form}, uint16(n)), text...)
		case msgStr32, msgBin32:
			return append(binary.BigEndian.AppendUint32([]byte{form}, uint32(n)), text...)
		}
		return append([]byte{fixStr | byte(n)}, text...)
	}
	maps := map[string][]byte{"fix": {0x82}, "16": {msgMap16, 0, 2}, "32": {msgMap32, 0, 0, 0, 2}}
	forms := []byte{msgStr8, msgStr16, msgStr32, msgBin8, msgBin16, msgBin32, fixStr}
	for name, head := range maps {
		for _, key := range forms[:6] {
			for _, value := range forms {
				message := append(append([]byte{}, head...), str(key, b)...)
				message = append(message, str(value, "B")...)
				message = append(append(message, str(key, a)...), str(value, "A")...)
				got, err := readAnswers(iotest.OneByteReader(bytes.NewReader(framed(message))), 100, jobsOf("ab"))
				assert.True(t, err == nil && string(got[0].body) == "A" && string(got[1].body) == "B",
					"map %s, keys %#x, values %#x: %v, %v, want string(got[0].body) A and string(got[1].body) B", name, key, value, got, err)
			}
		}
	}
}

// TestReader_RepeatedAnswer: the first counts.
func TestReader_RepeatedAnswer(t *testing.T) {
	a := strings.Repeat("a", idLength)
	got := assert.Must(readAnswers(bytes.NewReader(framed(pairs(a, "first", a, "second"))), 100, jobsOf("a")))(t)
	assert.Equal(t, "body of the first", string(got[0].body), "first")
}

// TestReader_ErrorIDOfNoAnswer: an id that is an error but has no answer has none.
func TestReader_ErrorIDOfNoAnswer(t *testing.T) {
	a := strings.Repeat("a", idLength)
	got, err := readAnswers(bytes.NewReader(framed(pairs("error_ids", a))), 100, jobsOf("a"))
	assert.True(t, err == nil && got[0].none, "%+v, %v, want none true", got, err)
}

// TestReader_ClaimsCostNoMemory: what is announced and does not come is not allocated.
func TestReader_ClaimsCostNoMemory(t *testing.T) {
	a := strings.Repeat("a", idLength)
	message := append(msgp.AppendString([]byte{0x81}, a), msgBin32, 0x7f, 0xff, 0xff, 0x00)
	message = append([]byte{0x7f, 0xff, 0xff, 0xff}, message...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readAnswers(bytes.NewReader(append(message, "some"...)), 1<<31, jobsOf("a"))
	runtime.ReadMemStats(&after)
	assert.ErrorIs(t, "error", err, errDisconnected)
	got := after.TotalAlloc - before.TotalAlloc
	assert.True(t, got <= 4<<20, "%d bytes were allocated, want at most %d", got, 4<<20)
}

// FuzzWorker makes a worker send arbitrary bytes. An answer that is accepted must be what another library reads there.
func FuzzWorker(f *testing.F) {
	a, b := strings.Repeat("a", idLength), strings.Repeat("b", idLength)
	f.Add(pairs(a, "1", b, "2"))
	f.Add(pairs(b, "2", "error_ids", b, a, "1"))
	f.Add(msgp.AppendNil(msgp.AppendString([]byte{0x81}, a)))
	f.Add([]byte{msgMap32, 0, 0, 0, 1, msgStr32, 0, 0, 0, 1, 'x', msgBin32, 0, 0, 0, 0})
	f.Add(append([]byte{0x81}, append(msgp.AppendString(nil, a), msgBin16, 0xff, 0xff)...))
	f.Add([]byte{0x80})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, message []byte) {
		jobs := jobsOf("ab")
		got, err := readAnswers(iotest.HalfReader(bytes.NewReader(framed(message))), 1<<20, jobs)
		want, bad, ok := oracle(message)
		assert.TrueNow(t, (err == nil) == ok, "%x: error %v, but the other library reads it: %v, want the same", message, err, ok)
		if err != nil {
			return
		}
		for i, j := range jobs {
			body, there := want[string(j.id[:])]
			status := StatusDone
			if bad[string(j.id[:])] {
				status = StatusInvalid
			}
			assert.TrueNow(t, got[i].none != there && (!there || string(got[i].body) == body && got[i].status == status),
				"%x: answer %d is %+v, want %q there %v, status %d", message, i, got[i], body, there, status)
		}
		// What follows on the connection is the next message.
		r := newReader(&stallReader{conn: talk{bytes.NewReader(append(framed(message), 0, 0, 0, 7))}}, 1<<20)
		if n, err := r.length(); err == nil {
			r.answers(n, jobs)
		}
		n, err := r.length()
		assert.TrueNow(t, n == 7 && err == nil, "%x: the next message has length %d, %v, want 7", message, n, err)
	})
}

// oracle reads a message by msgp. ok means that it is well-formed by the protocol.
func oracle(b []byte) (answers map[string]string, bad map[string]bool, ok bool) {
	answers, bad = map[string]string{}, map[string]bool{}
	text := func() (string, bool) {
		switch msgp.NextType(b) {
		case msgp.StrType:
			s, rest, err := msgp.ReadStringZC(b)
			b = rest
			return string(s), err == nil
		case msgp.BinType:
			s, rest, err := msgp.ReadBytesZC(b)
			b = rest
			return string(s), err == nil
		case msgp.NilType:
			rest, err := msgp.ReadNilBytes(b)
			b = rest
			return "", err == nil
		}
		return "", false
	}
	if msgp.NextType(b) != msgp.MapType {
		return nil, nil, false
	}
	n, b, err := msgp.ReadMapHeaderBytes(b)
	if err != nil {
		return nil, nil, false
	}
	var ids string
	for range n {
		key, ok := text()
		if !ok || len(key) > maxKey {
			return nil, nil, false
		}
		value, ok := text()
		if !ok {
			return nil, nil, false
		}
		if key == errorIDs {
			ids = value
		} else if _, again := answers[key]; !again {
			answers[key] = value
		}
	}
	for ; len(ids) >= idLength; ids = ids[idLength:] {
		bad[ids[:idLength]] = true
	}
	return answers, bad, len(b) == 0 && ids == ""
}
