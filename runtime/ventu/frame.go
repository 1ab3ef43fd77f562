package ventu

import (
	"encoding/binary"
	"net"
)

const (
	lengthSize = 4                // of a message's length
	mapHeader  = lengthSize + 5   // most bytes before a batch's first job
	jobHeader  = 2 + idLength + 5 // most bytes before a job's body
	oneBuffer  = 64 << 10         // frames up to this size are copied together
	smallBody  = 8 << 10          // in larger frames, bodies up to this size are copied
	msgMap16   = 0xde
	msgMap32   = 0xdf
	msgStr8    = 0xd9
	msgStr16   = 0xda
	msgStr32   = 0xdb
	msgBin8    = 0xc4
	msgBin16   = 0xc5
	msgBin32   = 0xc6
	msgNil     = 0xc0
	fixMap     = 0x80
	fixMapMost = 0x8f
	fixStr     = 0xa0
	fixStrMost = 0xbf
)

// encode makes a batch's message, in buffers, and tells its size. Large bodies are not copied.
func encode(jobs []*Job) (buffers net.Buffers, size int) {
	total, copied := mapHeader, mapHeader
	for _, j := range jobs {
		total += jobHeader + len(j.body)
		copied += jobHeader
		if len(j.body) <= smallBody {
			copied += len(j.body)
		}
	}
	most := smallBody
	if total <= oneBuffer {
		most, copied = oneBuffer, total
	}
	buf := make([]byte, lengthSize, copied)
	buf = appendMapHeader(buf, len(jobs))
	first, from := buf[:lengthSize], 0
	for _, j := range jobs {
		buf = append(buf, msgStr8, idLength)
		buf = append(buf, j.id[:]...)
		buf = appendBinHeader(buf, len(j.body))
		if len(j.body) <= most {
			buf = append(buf, j.body...)
			continue
		}
		size += len(j.body)
		buffers = append(buffers, buf[from:len(buf):len(buf)], j.body)
		from = len(buf)
	}
	if from < len(buf) {
		buffers = append(buffers, buf[from:])
	}
	size += len(buf)
	binary.BigEndian.PutUint32(first, uint32(size-lengthSize))
	return buffers, size
}

func appendMapHeader(b []byte, n int) []byte {
	switch {
	case n <= fixMapMost-fixMap:
		return append(b, fixMap|byte(n))
	case n <= 0xffff:
		return binary.BigEndian.AppendUint16(append(b, msgMap16), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, msgMap32), uint32(n))
	}
}

func appendBinHeader(b []byte, n int) []byte {
	switch {
	case n <= 0xff:
		return append(b, msgBin8, byte(n))
	case n <= 0xffff:
		return binary.BigEndian.AppendUint16(append(b, msgBin16), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, msgBin32), uint32(n))
	}
}
