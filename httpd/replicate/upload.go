package replicate

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"pinion/runtime/request"
)

const (
	// uploadAge is how long an uploaded file stays.
	uploadAge = 24 * time.Hour
	// maxUploads and maxUploadBytes bound the uploaded files; the oldest go first.
	maxUploads     = 1000
	maxUploadBytes = 1 << 30
)

// upload is a file that a client has sent.
type upload struct {
	id, name, mediaType string
	metadata            []byte // a JSON object
	size                int64
	etag, sum           string // MD5 and SHA-256, in hexadecimal
	created             time.Time
	store               request.Attachments // of this file alone
	path                string
	uses                int        // how many predictions read it
	dropped             bool       // it is removed after its last use
	readers             []*os.File // of downloads, which end when it is dropped
}

// uploads are the files that clients have sent. They are gone when the server ends.
type uploads struct {
	mu    sync.Mutex
	files map[string]*upload
	bytes int64
	timer *time.Timer // of the next expiry, or nil
}

// newUpload describes the first file of store, which it takes over.
func newUpload(store request.Attachments, name string) (*upload, error) {
	u := &upload{
		id: rand.Text(), name: name, created: time.Now(), store: store, path: store.Path(0),
		metadata: []byte("{}"),
	}
	from, err := os.Open(u.path)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	etag, sum := md5.New(), sha256.New() // MD5 because the etags of Replicate's files are
	if u.size, err = io.Copy(io.MultiWriter(etag, sum), from); err != nil {
		return nil, err
	}
	u.etag, u.sum = hex.EncodeToString(etag.Sum(nil)), hex.EncodeToString(sum.Sum(nil))
	return u, nil
}

// add keeps a file. It returns false if the files that are in use take all room.
func (l *uploads) add(u *upload) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	fits := func(files int, bytes int64) bool { return files < maxUploads && bytes+u.size <= maxUploadBytes }
	files, bytes := len(l.files), l.bytes
	var old []*upload
	for _, other := range l.sorted() {
		if fits(files, bytes) {
			break
		}
		if other.uses == 0 {
			old, files, bytes = append(old, other), files-1, bytes-other.size
		}
	}
	if !fits(files, bytes) {
		return false // and nothing is dropped for it
	}
	for _, other := range old {
		l.drop(other)
	}
	l.files[u.id] = u
	l.bytes += u.size
	l.expireLater()
	return true
}

// sorted returns the files, the oldest first. Called with the lock held.
func (l *uploads) sorted() []*upload {
	list := make([]*upload, 0, len(l.files))
	for _, u := range l.files {
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b *upload) int { return a.created.Compare(b.created) })
	return list
}

// list returns copies of the files, the oldest first.
func (l *uploads) list() []upload {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []upload
	for _, u := range l.sorted() {
		list = append(list, *u)
	}
	return list
}

// download is the content of a file that a client reads.
type download struct {
	l       *uploads
	of      *upload
	content *os.File
}

// open opens a file for a download, until Release. It returns nil if there is none of that id. The download ends when the file is
// dropped: a client that reads slowly, or not at all, keeps no room.
func (l *uploads) open(id string) (*download, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.files[id]
	if u == nil {
		return nil, nil
	}
	content, err := os.Open(u.path)
	if err != nil {
		return nil, err
	}
	u.readers = append(u.readers, content)
	return &download{l, u, content}, nil
}

// Release ends a download.
func (d *download) Release() {
	d.l.mu.Lock()
	defer d.l.mu.Unlock()
	d.of.readers = slices.DeleteFunc(d.of.readers, func(r *os.File) bool { return r == d.content })
	d.content.Close()
}

// use returns a file, which stays until release, or nil if there is none of that id.
func (l *uploads) use(id string) *upload {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.files[id]
	if u != nil {
		u.uses++
	}
	return u
}

// release ends a use.
func (l *uploads) release(u *upload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u.uses--; u.uses == 0 && u.dropped {
		l.remove(u)
	}
}

// delete forgets a file; false means there is none of that id.
func (l *uploads) delete(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.files[id]
	if u != nil {
		l.drop(u)
	}
	return u != nil
}

// drop forgets a file, and removes it unless a prediction uses it. Called with the lock held.
func (l *uploads) drop(u *upload) {
	delete(l.files, u.id)
	for _, r := range u.readers {
		r.Close()
	}
	if u.dropped = true; u.uses == 0 {
		l.remove(u)
	}
}

// remove removes a file from disk. Called with the lock held.
func (l *uploads) remove(u *upload) {
	l.bytes -= u.size
	u.store.Close()
}

// expireLater sets the timer for the oldest file. Called with the lock held.
func (l *uploads) expireLater() {
	list := l.sorted()
	if len(list) == 0 || l.timer != nil {
		return
	}
	l.timer = time.AfterFunc(time.Until(list[0].created.Add(uploadAge)), l.expire)
}

// expire drops files that are too old.
func (l *uploads) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range l.sorted() {
		if time.Since(u.created) >= uploadAge {
			l.drop(u)
		}
	}
	l.timer = nil
	l.expireLater()
}

// attached are uploaded files that a prediction reads. They implement predict.Attachments.
type attached struct {
	of    *uploads
	files []*upload
	close sync.Once
}

// Path implements predict.Attachments.
func (a *attached) Path(number int) string {
	if number < 0 || number >= len(a.files) {
		return ""
	}
	return a.files[number].path
}

// Close implements predict.Attachments: it ends the uses of the files.
func (a *attached) Close() {
	a.close.Do(func() {
		for _, u := range a.files {
			a.of.release(u)
		}
	})
}
