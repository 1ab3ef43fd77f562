package modelhost

import (
	"sync"

	"pinion/cmd/pinion/internal/process"
	"pinion/ipc"
)

// sdkFolder is where the cog package lies.
type sdkFolder struct {
	run *process.RunDir

	mu    sync.Mutex
	found string // by find; "" after the first start
}

// find finds the folder, or makes it.
func (d *sdkFolder) find() (string, error) {
	dir, err := process.SDKFolder(d.run)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.found = dir
	return dir, nil
}

// keep checks before each start of a worker that the folder is still there and unchanged. The first start needs no
// check, because find has just made one.
func (d *sdkFolder) keep(spec *ipc.WorkerConfig) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, err := d.found, error(nil)
	if d.found = ""; dir == "" {
		dir, err = process.SDKFolder(d.run)
	}
	if err == nil {
		spec.SDK = dir
	}
	return err
}
