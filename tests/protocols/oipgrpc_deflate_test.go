package protocols

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/tests/assert"
	"pinion/tests/rawgrpc"
)

// compressed returns data as a writer's format has it.
func compressed(t *testing.T, data []byte, to func(w io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var out bytes.Buffer
	w := to(&out)
	_, err := w.Write(data)
	assert.NoError(t, err)
	assert.NoError(t, w.Close())
	return out.Bytes()
}

// TestGRPC_HostileCompression: each call gets its status, and the next one is answered.
func TestGRPC_HostileCompression(t *testing.T) {
	t.Parallel()
	s := tensors(t, "Raw", "--grpc-port=0", "--max-body=1000000")
	address := s.GRPCAddress()
	message := assert.Must(proto.Marshal(&pb.ModelInferRequest{ModelName: "other"}))(t)
	level := func(n int) func(io.Writer) io.WriteCloser {
		return func(w io.Writer) io.WriteCloser {
			return assert.Must(zlib.NewWriterLevel(w, n))(t)
		}
	}
	good := compressed(t, message, level(6))
	wrongSum := bytes.Clone(good)
	wrongSum[len(wrongSum)-1] ^= 1
	raw := func(w io.Writer) io.WriteCloser {
		return assert.Must(flate.NewWriter(w, 6))(t)
	}
	dictionary := func(w io.Writer) io.WriteCloser {
		return assert.Must(zlib.NewWriterLevelDict(w, 6, []byte("other")))(t)
	}
	const unknown, broken = `5 unknown model "other"`, "3 the message cannot be decompressed"
	for name, c := range map[string]struct {
		encoding string
		flag     byte
		data     []byte
		want     string
	}{
		"stored":       {"deflate", 1, compressed(t, message, level(0)), unknown},
		"smallest":     {"deflate", 1, compressed(t, message, level(9)), unknown},
		"not marked":   {"deflate", 0, message, unknown},
		"marked alike": {"", 1, good, "12 "},
		"identity":     {"identity", 1, message, "12 "},
		"brotli":       {"br", 1, good, "12 "},
		"wrong flag":   {"deflate", 2, good, "13 "},
		"raw deflate":  {"deflate", 1, compressed(t, message, raw), broken},
		"a dictionary": {"deflate", 1, compressed(t, message, dictionary), broken},
		"gzip":         {"deflate", 1, compressed(t, message, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }), broken},
		"zlib as gzip": {"gzip", 1, good, broken},
		"cut":          {"deflate", 1, good[:len(good)-5], broken},
		"wrong sum":    {"deflate", 1, wrongSum, broken},
		"nothing":      {"deflate", 1, nil, broken},
		"a bomb":       {"deflate", 1, compressed(t, make([]byte, 50_000_000), level(9)), "8 the message has more than 1000000 bytes after"},
		"bomb in a bomb": {
			"deflate", 1, compressed(t, compressed(t, make([]byte, 50_000_000), level(9)), level(9)),
			"3 invalid ModelInferRequest",
		},
	} {
		client := rawgrpc.Dial(t, address)
		for range 2 { // the second with what the first has left in the pools
			stream := client.Open("/inference.GRPCInferenceService/ModelInfer", 1,
				hpack.HeaderField{Name: "grpc-encoding", Value: c.encoding})
			head := binary.BigEndian.AppendUint32([]byte{c.flag}, uint32(len(c.data)))
			client.Data(stream, append(head, c.data...), true)
			got := client.Ended(stream)
			assert.True(t, strings.HasPrefix(got, c.want), "%s: got %q, want %q", name, got, c.want)
		}
	}
}
