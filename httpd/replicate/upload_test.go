package replicate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pinion/runtime/predict"
	"pinion/runtime/request"
	"pinion/tests/assert"
)

// fakeStore is the folder of a file.
type fakeStore struct {
	request.Attachments
	closed int
}

func (s *fakeStore) Close() { s.closed++ }

func newUploads() *uploads { return &uploads{files: map[string]*upload{}} }

func (l *uploads) put(t *testing.T, id string, size int64) *fakeStore {
	t.Helper()
	store := &fakeStore{}
	made := time.Now().Add(time.Duration(len(l.files)) * time.Second)
	assert.TrueNow(t, l.add(&upload{id: id, size: size, created: made, store: store}), "there is no room for %s, want add true", id)
	return store
}

// TestUploads_OldestGoFirst: a new file takes the room of the oldest ones that are not in use.
func TestUploads_OldestGoFirst(t *testing.T) {
	l := newUploads()
	first, second, third := l.put(t, "1", maxUploadBytes/2), l.put(t, "2", maxUploadBytes/4),
		l.put(t, "3", maxUploadBytes/4)
	used := l.use("1")
	l.put(t, "4", maxUploadBytes/4)
	assert.True(t, first.closed == 0 && second.closed == 1 && third.closed == 0,
		"got %d, %d, %d removals, want only the second", first.closed, second.closed, third.closed)
	assert.False(t, l.add(&upload{id: "5", size: maxUploadBytes, created: time.Now(), store: &fakeStore{}}),
		"a file has room that a file in use takes")
	l.release(used)
	l.put(t, "6", maxUploadBytes)
	if got := l.list(); first.closed != 1 || len(got) != 1 || got[0].id != "6" || l.bytes != maxUploadBytes {
		t.Errorf("got %d files of %d bytes, want the newest alone", len(got), l.bytes)
	}
}

// TestUploads_RefusedDropsNone: a file for which there is no room, as predictions use the others, drops none of these.
func TestUploads_RefusedDropsNone(t *testing.T) {
	l := newUploads()
	unread := l.put(t, "1", maxUploadBytes/4)
	l.put(t, "2", maxUploadBytes/2)
	used := l.use("2")
	assert.False(t, l.add(&upload{id: "3", size: maxUploadBytes, created: time.Now(), store: &fakeStore{}}),
		"a file has room that a file in use takes")
	assert.True(t, unread.closed == 0 && len(l.files) == 2, "got %d files and %d removals, want 2 and 0", len(l.files), unread.closed)
	l.release(used)
}

// TestUploads_DownloadsEnd: a file whose download goes on gives its room to a newer one.
func TestUploads_DownloadsEnd(t *testing.T) {
	l := newUploads()
	store := l.put(t, "1", maxUploadBytes)
	l.files["1"].path = filepath.Join(t.TempDir(), "a")
	assert.NoError(t, os.WriteFile(l.files["1"].path, []byte("content"), 0o600))
	d, err := l.open("1")
	assert.NoError(t, err)
	l.put(t, "2", maxUploadBytes)
	_, err = d.content.ReadAt(make([]byte, 1), 0)
	assert.True(t, errors.Is(err, os.ErrClosed), "got %v from the download, want that it is closed", err)
	assert.True(t, store.closed == 1 && l.bytes == maxUploadBytes, "got %d removals and %d bytes, want 1 and %d",
		store.closed, l.bytes, maxUploadBytes)
	d.Release()
	d, err = l.open("1")
	assert.True(t, d == nil && err == nil, "got %v, %v of a file that is gone, want none", d, err)
}

// TestUploads_DeletedInUse: a file that is deleted while a prediction reads it stays until then, and is not found.
func TestUploads_DeletedInUse(t *testing.T) {
	l := newUploads()
	store := l.put(t, "1", 1)
	a := &attached{of: l, files: []*upload{l.use("1"), l.use("1")}}
	assert.True(t, l.delete("1") && !l.delete("1") && l.use("1") == nil,
		`a deleted file is found, want l.delete("1") true, then false and 1 nil`)
	assert.Equal(t, "removals of a file in use", store.closed, 0)
	a.Close()
	a.Close()
	assert.True(t, store.closed == 1 && l.bytes == 0 && a.Path(2) == "" && a.Path(-1) == "",
		"got %d removals and %d bytes, want 1 and 0", store.closed, l.bytes)
}

// TestUploads_Expire: a file that is too old goes, and the others stay.
func TestUploads_Expire(t *testing.T) {
	l := newUploads()
	old, young := l.put(t, "old", 1), l.put(t, "young", 1)
	l.files["old"].created = time.Now().Add(-uploadAge)
	l.expire()
	assert.True(t, old.closed == 1 && young.closed == 0 && l.timer != nil,
		"got %d and %d removals, want 1 and 0", old.closed, young.closed)
	l.timer.Stop()
}

// TestUploads_MostFiles: there are at most maxUploads.
func TestUploads_MostFiles(t *testing.T) {
	l := newUploads()
	first := l.put(t, "first", 0)
	for i := range maxUploads {
		l.put(t, strconv.Itoa(i), 0)
	}
	assert.Equal(t, "number of files", len(l.files), maxUploads)
	assert.Equal(t, "closed", first.closed, 1)
}

// TestEventWriter_LargeEventsInPieces: an event of any size is made in pieces, which together are the text.
func TestEventWriter_LargeEventsInPieces(t *testing.T) {
	text := strings.Repeat(`\ud83d\ude00é\n\"\\`, 50_000)
	var all []byte
	largest := 0
	spill := func(b []byte) []byte {
		all, largest = append(all, b...), max(largest, len(b))
		return b[:0]
	}
	all = append(all, (&eventWriter{}).Output(nil, []byte(`"`+text+`"`), spill)...)
	want := "event: output\nid: 0\ndata: " + strings.Repeat("😀é\ndata: \"\\", 50_000) + "\n\n"
	assert.True(t, string(all) == want && largest <= 2*pieceSize,
		"got %d bytes, the largest piece has %d; want %d bytes and at most %d", len(all), largest, len(want), 2*pieceSize)
}

// TestEventWriter_Lines: each line of a text has its data line, and a canceled prediction ends with its reason.
func TestEventWriter_Lines(t *testing.T) {
	w := &eventWriter{}
	keep := func(b []byte) []byte { return b }
	got := w.Output(nil, []byte(`"a\nb\r\nc"`), keep)
	got = w.Output(got, []byte(`{"x":1}`), keep)
	got = w.Log(got, []byte("l"), keep)
	got = w.End(got, &predict.Record{Progress: predict.Progress{Status: predict.Canceled}}, keep)
	const want = "event: output\nid: 0\ndata: a\ndata: b \ndata: c\n\n" + "event: output\nid: 1\ndata: {\"x\":1}\n\n" +
		"event: logs\nid: 2\ndata: l\n\n" + "event: done\nid: 3\ndata: {\"reason\":\"canceled\"}\n\n"
	assert.Equal(t, fmt.Sprintf("%q", got), string(got), want)
}
