package ipc

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// TestFiles_DescriptorsStayWithTheirFrames sends frames with and without descriptors in one batch, in rows of
// several of each, and from several goroutines.
func TestFiles_DescriptorsStayWithTheirFrames(t *testing.T) {
	noLeak(t)
	a, b := ends(t)
	const senders, frames = 4, 120
	withFile := func(id uint64) bool { return id%7 < 3 || id%11 == 0 }
	var wg sync.WaitGroup
	for sender := range uint64(senders) {
		wg.Go(func() {
			for n := range uint64(frames) {
				id := sender*frames + n
				var err error
				if withFile(id) {
					fd, ferr := bodyFile(nil, 0, [][]byte{filled(10+int(id), id)})
					if ferr != nil {
						t.Error(ferr)
						return
					}
					err = a.write.enqueue(fd, KindPredict, FlagFile, id, 0, 0, nil)
				} else {
					err = a.Queue(KindPredict, id, filled(10+int(id), id))
				}
				if n%9 == 8 && err == nil {
					err = a.Flush()
				}
				if err != nil {
					t.Errorf("frame %d: got %v, want no error", id, err)
					return
				}
			}
			assert.ErrorIs(t, "a.Flush", a.Flush(), nil)
		})
	}
	seen := make(map[uint64]bool)
	for _, got := range receive(t, b, senders*frames) {
		want := message{Kind: KindPredict, ID: got.ID, Body: filled(10+int(got.ID), got.ID)}
		if withFile(got.ID) {
			want.Flags = FlagFile
		}
		assert.True(t, got.equal(want) && !seen[got.ID], "got %v, want %v, once", got, want)
		seen[got.ID] = true
	}
	wg.Wait()
}

func TestFiles_SendFilePassesDescriptor(t *testing.T) {
	noLeak(t)
	var a *Conn
	fd := rawEnd(t, &a)
	defer unix.Close(fd)
	var pipe [2]int
	assert.NoError(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
	defer unix.Close(pipe[0])
	assert.NoError(t, a.SendFile(KindSlot, 3, pipe[1]))
	buf, oob := make([]byte, 100), make([]byte, 100)
	n, oobn, flags, _, err := unix.Recvmsg(fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
	assert.NoError(t, err)
	assert.EqualNow(t, "truncated control data", flags&unix.MSG_CTRUNC, 0)
	if want := wire(KindSlot, FlagFile, 3, 0, nil); string(buf[:n]) != string(want) {
		t.Errorf("got % x, want % x", buf[:n], want)
	}
	messages := assert.Must(unix.ParseSocketControlMessage(oob[:oobn]))(t)
	assert.EqualNow(t, "number of messages", len(messages), 1)
	fds := assert.Must(unix.ParseUnixRights(&messages[0]))(t)
	assert.EqualNow(t, "number of descriptors", len(fds), 1)
	_, err = unix.Write(fds[0], []byte("hello"))
	assert.NoError(t, err)
	unix.Close(fds[0])
	// The sender's own is closed: what was written comes, and then the end.
	got := readAll(t, pipe[0], 5)
	assert.True(t, string(got) == "hello", "got %q, want hello", got)
	n, err = unix.Read(pipe[0], buf)
	assert.True(t, n == 0 && err == nil, "the other end is still held: %d, %v, want 0", n, err)
}

// TestFiles_ThatAreNoBodies: only memory files are bodies. Other descriptors are closed.
func TestFiles_ThatAreNoBodies(t *testing.T) {
	noLeak(t)
	var a *Conn
	fd := rawEnd(t, &a)
	defer unix.Close(fd)
	var pipe [2]int
	assert.NoError(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
	for i, of := range []int{pipe[0], pipe[1], fd, memoryFile(t, nil)} {
		writeAll(t, fd, wire(KindSucceeded, FlagFile, uint64(i), 0, nil), of)
		if of != fd {
			unix.Close(of)
		}
	}
	for i, got := range receive(t, a, 4) {
		want := (message{Kind: KindSucceeded, Flags: FlagFile, ID: uint64(i)})
		assert.True(t, got.equal(want), "got %v, want %v", got, want)
	}
	dir := assert.Must(unix.Open(t.TempDir(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(dir)
	writeAll(t, fd, wire(KindSucceeded, FlagFile, 9, 0, nil), dir)
	got, err := untilError(a)
	assert.True(t, len(got) == 0 && err != nil && !errors.Is(err, ErrClosed),
		"a folder as a body: %v, %v; want an error that is not the end", got, err)
}

func TestFiles_DescriptorsOutOfPlace(t *testing.T) {
	plain := wire(KindSucceeded, 0, 1, 0, []byte("{}"))
	file := wire(KindSucceeded, FlagFile, 2, 0, nil)
	big := wire(KindSucceeded, 0, 3, 0, filled(ownedMin, 3))
	for name, c := range map[string]struct {
		pieces [][]byte
		files  []int // how many go with each piece
		frames int   // that are handed on nevertheless
		says   string
	}{
		"a file frame without one":     {[][]byte{plain, file}, []int{0, 0}, 1, "without its descriptor"},
		"one with a plain frame":       {[][]byte{plain}, []int{1}, 1, "without their frames"},
		"two with one frame":           {[][]byte{file}, []int{2}, 1, "without their frames"},
		"one within a body":            {[][]byte{big[:100], big[100:200], big[200:]}, []int{0, 1, 0}, 0, "within a body"},
		"more than a message may have": {[][]byte{file}, []int{100}, 0, "too many descriptors"},
		"one too early, then its own":  {[][]byte{plain[:10], plain[10:], file}, []int{1, 0, 1}, 1, "without their frames"},
	} {
		t.Run(name, func(t *testing.T) {
			noLeak(t)
			var a *Conn
			fd := rawEnd(t, &a)
			defer unix.Close(fd)
			var got []message
			var err error
			for i, piece := range c.pieces {
				var fds []int
				for range c.files[i] {
					fds = append(fds, memoryFile(t, []byte("body")))
				}
				writeAll(t, fd, piece, fds...)
				for _, f := range fds {
					unix.Close(f)
				}
				if err == nil { // one read a piece
					err = a.Recv(func(f *Frame) { got = append(got, keep(f)) })
				}
			}
			assert.True(t, errors.Is(err, ErrProtocol) && strings.Contains(err.Error(), c.says),
				"got %v, want ErrProtocol that says %q", err, c.says)
			assert.Equal(t, fmt.Sprintf("%v", got), len(got), c.frames)
		})
	}
}

// TestFiles_CloseClosesUnclaimedDescriptors: one that came with half a frame has no owner yet.
func TestFiles_CloseClosesUnclaimedDescriptors(t *testing.T) {
	noLeak(t)
	var a *Conn
	fd := rawEnd(t, &a)
	defer unix.Close(fd)
	body := memoryFile(t, []byte("body"))
	writeAll(t, fd, wire(KindSucceeded, FlagFile, 1, 0, nil)[:10], body)
	unix.Close(body)
	assert.NoError(t, a.Recv(func(f *Frame) { t.Errorf("got %v out of half a header, want nothing", keep(f)) }))
	assert.EqualNow(t, "the descriptor", a.read.files.len(), 1)
	a.Close()
	assert.Equal(t, "the descriptor", a.read.files.len(), 0)
}

// TestFiles_QueueIn: a large body goes to the file that the caller makes, and to a memory file where it makes none or
// that is full.
func TestFiles_QueueIn(t *testing.T) {
	noLeak(t)
	body := filled(InlineMax+1, 7)
	var used *os.File
	for what, create := range map[string]func(int64) (*os.File, error){
		"a file": func(size int64) (*os.File, error) {
			assert.Equal(t, "size", size, int64(len(body)))
			file, err := os.CreateTemp(t.TempDir(), "")
			used = file
			return file, err
		},
		"none":        func(int64) (*os.File, error) { return nil, errors.New("full") },
		"a full disk": func(int64) (*os.File, error) { return os.OpenFile("/dev/full", os.O_RDWR, 0) },
	} {
		a, b := ends(t)
		assert.NoError(t, a.QueueIn(create, KindPredict, 0, 7, body[:9], body[9:]), what)
		assert.NoError(t, a.Flush())
		got := receive(t, b, 1)[0]
		want := (message{Kind: KindPredict, Flags: FlagFile, ID: 7, Body: body})
		assert.True(t, got.equal(want), "%s: got another body", what)
	}
	assert.True(t, used != nil && used.Fd() == ^uintptr(0), "the file is open, want it closed")
}
