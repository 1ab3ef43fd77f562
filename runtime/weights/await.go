package weights

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ManifestFile is a file of an image, in Cog's form, that names weights which another program brings.
const ManifestFile = "/.cog/weights.json"

// maxManifest is how long it may be, in bytes.
const maxManifest = 1 << 20

// Expected is one of the weights that a manifest names.
type Expected struct {
	Name      string `json:"name"`
	Target    string `json:"target"`
	SetDigest string `json:"setDigest"`
}

// ReadManifest reads a manifest; nil means there is none.
func ReadManifest(name string) ([]Expected, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var data []byte
	if err == nil {
		defer file.Close()
		data, err = io.ReadAll(io.LimitReader(file, maxManifest+1))
	}
	var m struct {
		Weights []Expected `json:"weights"`
	}
	if err == nil && len(data) > maxManifest {
		err = fmt.Errorf("it has more than %d bytes", maxManifest)
	}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	for _, e := range m.Weights {
		if err == nil && (checkPath(e.Name) != nil || strings.Contains(e.Name, "/") || !filepath.IsAbs(e.Target)) {
			err = fmt.Errorf("weights %.60q: the name is no name of a folder, or the target %.200q is not absolute", e.Name, e.Target)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return m.Weights, nil
}

// isAwaited reports whether another program brings weights: by the manifest, or because the target is a volume that this
// process cannot write to, and that is empty or has markers.
func (f *fetcher) isAwaited(w *Weight) bool {
	if w.Awaited {
		return true
	}
	if w.IsFile || f.o.ForLock || !errors.Is(unix.Access(w.Target, unix.W_OK), unix.EROFS) {
		return false
	}
	found, err := os.ReadDir(w.Target)
	return err == nil && (len(found) == 0 || isThere(filepath.Join(w.Target, cogFolder)))
}

// awaitPause is how often a marker is looked for. File systems of a network do not tell of changes.
const awaitPause = 100 * time.Millisecond

// await waits until another program has brought weights, as the markers at their target say.
func (f *fetcher) await(ctx context.Context, w *Weight) error {
	f.o.Log.Info("weights are awaited", "weights", w.Name, "target", w.Target)
	for {
		there, err := awaited(w)
		if there || err != nil {
			return err
		}
		timer := time.NewTimer(awaitPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			state := "it has none of Cog's markers: is its volume mounted, and does a program fill it?"
			if isThere(filepath.Join(w.Target, cogFolder, markDownloading)) {
				state = "they are on their way"
			}
			return fmt.Errorf("the target %s: %w; %s", w.Target, context.Cause(ctx), state)
		}
	}
}

// awaited reports whether weights are there, or why they will not be.
func awaited(w *Weight) (bool, error) {
	if set, is := readMarker(w, markReady); is {
		if w.Lock != nil && isDigest(set) && isDigest(w.Lock.SetDigest) && set != w.Lock.SetDigest {
			return false, &wrongError{w.Target, "setDigest", w.Lock.SetDigest, set, false}
		}
		return true, nil
	}
	if why, is := readMarker(w, markFailed); is {
		return false, fmt.Errorf("the program that brings them to %s has failed: %s", w.Target, why)
	}
	return false, nil
}

// readMarker reads a marker of a target.
func readMarker(w *Weight, name string) (text string, is bool) {
	file, err := os.Open(filepath.Join(w.Target, cogFolder, name))
	if err != nil {
		return "", false
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, 4<<10))
	return strings.TrimSpace(string(data)), err == nil
}
