package weights

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/zstd"

	"pinion/tests/assert"
)

// tarOf returns an archive of headers, whose files have their names as content.
func tarOf(t *testing.T, headers ...tar.Header) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		h.Mode = 0o600
		if h.Typeflag == 0 || h.Typeflag == tar.TypeReg {
			h.Typeflag, h.Size = tar.TypeReg, int64(len(h.Name))
		}
		assert.NoError(t, w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			_ = assert.Must(w.Write([]byte(h.Name)))(t)
		}
	}
	assert.NoError(t, w.Close())
	return b.Bytes()
}

func packed(t *testing.T, data []byte, pack func(io.Writer) io.WriteCloser) []byte {
	var b bytes.Buffer
	w := pack(&b)
	_ = assert.Must(w.Write(data))(t)
	assert.NoError(t, w.Close())
	return b.Bytes()
}

func zipOf(t *testing.T, names map[string]os.FileMode) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, mode := range names {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(mode)
		f := assert.Must(w.CreateHeader(h))(t)
		if mode.IsDir() {
			continue
		}
		_ = assert.Must(f.Write([]byte(name)))(t)
	}
	assert.NoError(t, w.Close())
	return b.Bytes()
}

func gzipped(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }

func zstandard(w io.Writer) io.WriteCloser {
	z, _ := zstd.NewWriter(w)
	return z
}

// TestRun_Unpacks: the files of an archive lie at the target, and it is fetched and unpacked once.
func TestRun_Unpacks(t *testing.T) {
	t.Parallel()
	plain := tarOf(t, tar.Header{Name: "./", Typeflag: tar.TypeDir}, tar.Header{Name: "./a.bin"},
		tar.Header{Name: "sub", Typeflag: tar.TypeDir}, tar.Header{Name: "sub/b.bin"})
	for name, data := range map[string][]byte{
		"x.tar": plain, "x.tar.gz": packed(t, plain, gzipped), "x.tar.zst": packed(t, plain, zstandard),
		"x.zip": zipOf(t, map[string]os.FileMode{"./a.bin": 0o600, "sub/": os.ModeDir | 0o700, "sub/b.bin": 0o600}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			url := serve(t, func(w http.ResponseWriter, req *http.Request) {
				ranges(countingWriter{w, &sent}, req, data, `"a"`)
			})
			r := newRig(t)
			w := r.weight("base", url+"/"+name)
			w.Unpack = true
			assert.NoError(t, r.fetch(w))
			r.checkFile([]byte("./a.bin"), "base", "a.bin")
			r.checkFile([]byte("sub/b.bin"), "base", "sub/b.bin")
			assert.False(t, isThere(filepath.Join(w.Target, name)), "the archive is at the target")
			before := sent.Load()
			assert.NoError(t, os.RemoveAll(w.Target))
			assert.NoError(t, r.fetch(w))
			r.checkFile([]byte("sub/b.bin"), "base", "sub/b.bin")
			assert.True(t, sent.Load() <= before+1, "%d bytes more came", sent.Load()-before)

			o := r.options()
			o.ForLock = true
			run := Start(o, []Weight{w}, func(*Weight, error) {})
			<-run.Done()
			assert.NoError(t, run.Err())
			lock := run.Lock(nil)
			run.Close()
			assert.True(t, len(lock.Weights[0].Files) == 2, "got %v, want the files of the archive", lock.Weights[0].Files)
			cold := newRig(t)
			w = cold.weight("base", url+"/"+name)
			w.Unpack, w.Lock = true, &lock.Weights[0]
			assert.NoError(t, cold.fetch(w))
			cold.checkFile([]byte("./a.bin"), "base", "a.bin")
			w.Lock.SetDigest = digestPrefix + digest(nil)
			w.Lock.Files = append(w.Lock.Files, LockedFile{File: File{"c", 1, w.Lock.SetDigest}})
			failsWith(t, cold.fetch(w), "weights.lock: what was unpacked has the wrong setDigest")
		})
	}
}

// TestRun_RefusesBadArchives: nothing of an archive is placed that has a bad entry, and the error names it.
func TestRun_RefusesBadArchives(t *testing.T) {
	t.Parallel()
	of := func(h tar.Header) []byte { return tarOf(t, tar.Header{Name: "good"}, h) }
	good := of(tar.Header{Name: "b"})
	for name, test := range map[string]struct {
		file string
		data []byte
		want string
	}{
		"a symbolic link": {"x.tar", of(tar.Header{Name: "l", Linkname: "/etc", Typeflag: tar.TypeSymlink}), `"l" is no file`},
		"a hard link":     {"x.tar", of(tar.Header{Name: "l", Linkname: "good", Typeflag: tar.TypeLink}), `"l" is no file`},
		"a device":        {"x.tar", of(tar.Header{Name: "d", Typeflag: tar.TypeChar}), `"d" is no file`},
		"a pipe":          {"x.tar", of(tar.Header{Name: "p", Typeflag: tar.TypeFifo}), `"p" is no file`},
		"out of it":       {"x.tar", of(tar.Header{Name: "../b"}), `"../b" leaves the folder`},
		"in between":      {"x.tar", of(tar.Header{Name: "a/../../b"}), `"a/../../b" leaves the folder`},
		"absolute":        {"x.tar", of(tar.Header{Name: "/etc/b"}), `"/etc/b" leaves the folder`},
		"a line break":    {"x.tar", of(tar.Header{Name: "a\nb"}), "control character"},
		"a marker":        {"x.tar", of(tar.Header{Name: ".cog/ready"}), "markers"},
		"twice":           {"x.tar", of(tar.Header{Name: "./good"}), `"./good" is there twice`},
		"a link in a zip": {"x.zip", zipOf(t, map[string]os.FileMode{"l": os.ModeSymlink | 0o777}), `"l" is no file`},
		"out of a zip":    {"x.zip", zipOf(t, map[string]os.FileMode{"../b": 0o600}), "leaves the folder"},
		"cut":             {"x.tar", good[:514], "unexpected EOF"},
		"cut gzip":        {"x.tar.gz", packed(t, good, gzipped)[:60], "unexpected EOF"},
		"no gzip":         {"x.tar.gz", good, "gzip"},
		"no zip":          {"x.zip", good, "zip"},
		"no archive":      {"x.bin", good, "x.bin is no archive"},
		"empty":           {"x.tar", tarOf(t), "has no files"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, func(w http.ResponseWriter, req *http.Request) { ranges(w, req, test.data, `"a"`) })
			r := newRig(t)
			w := r.weight("base", url+"/"+test.file)
			w.Unpack = true
			failsWith(t, r.fetch(w), test.want)
			assert.False(t, isThere(w.Target), "something is at the target")
		})
	}
}
