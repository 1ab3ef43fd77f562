package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

// waitingDir is NATS' folder for waiting.
const waitingDir = "waiting"

// waiting measures the memory and disk that waiting jobs of 1 KB cost a NATS that has just started.
func (b *bench) waiting() error {
	nats, err := b.startNATS(waitingDir)
	if err != nil {
		return err
	}
	defer nats.end()
	gateway, err := b.gateway(natsURL, "none", "--jobs-capacity", fmt.Sprint(b.jobs+1)) // of a model that no server has
	if err != nil {
		return err
	}
	defer gateway.end()
	memory, disk, err := b.held(nats)
	if err != nil {
		return err
	}
	body := fmt.Sprintf(`{"input":{"text":"%s"}}`, strings.Repeat("x", 1000))
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(b.jobs))
	errs := make([]error, b.clients)
	for i := range errs {
		wg.Go(func() {
			for left.Add(-1) >= 0 && errs[i] == nil {
				_, errs[i] = accept(gateway, body)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	more, written, err := b.held(nats)
	if err != nil {
		return err
	}
	fmt.Printf("%-44s %d MB of memory, %d MB of disk at NATS\n", fmt.Sprintf("%d waiting jobs of 1 KB", b.jobs),
		(more-memory)>>20, (written-disk)>>20)
	return nil
}

// held returns how much memory and disk NATS uses, in bytes.
func (b *bench) held(nats *process) (memory, disk int64, err error) {
	smaps, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", nats.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	_, line, _ := strings.Cut(string(smaps), "\nPrivate_Dirty:")
	if _, err := fmt.Sscanf(line, "%d kB", &memory); err != nil {
		return 0, 0, err
	}
	err = filepath.WalkDir(filepath.Join(b.dir, waitingDir), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			disk += info.Size()
		}
		return err
	})
	return memory << 10, disk, err
}
