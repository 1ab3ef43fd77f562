package gpu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// machine returns a root folder with these files in it.
func machine(t *testing.T, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range files {
		path := filepath.Join(root, name)
		assert.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.NoError(t, os.WriteFile(path, nil, 0o644))
	}
	return root
}

func TestPlan_VisibleGPUs(t *testing.T) {
	const gpu, mig = "GPU-2b0ae7f0-0000-1111-2222-333344445555", "MIG-2b0ae7f0-0000-1111-2222-333344445555"
	two := []string{"dev/nvidia0", "dev/nvidia1", "dev/nvidiactl", "dev/nvidia-uvm"}
	for name, c := range map[string]struct {
		files []string
		env   map[string]string
		want  []string
	}{
		"no driver":                         {nil, nil, nil},
		"no driver, an image made for GPUs": {nil, map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"}, nil},
		"two":                               {two, nil, []string{"0", "1"}},
		"two of a container, which are others on the host": {
			two,
			map[string]string{"NVIDIA_VISIBLE_DEVICES": "4,6"},
			[]string{"0", "1"},
		},
		"by identifier": {two, map[string]string{"NVIDIA_VISIBLE_DEVICES": gpu}, []string{gpu}},
		"a part of one": {two[:1], map[string]string{"NVIDIA_VISIBLE_DEVICES": mig}, []string{mig}},
		"CUDA's own variable": {
			two,
			map[string]string{"CUDA_VISIBLE_DEVICES": "1", "NVIDIA_VISIBLE_DEVICES": "all"},
			[]string{"1"},
		},
		"none by CUDA's own variable":   {two, map[string]string{"CUDA_VISIBLE_DEVICES": ""}, nil},
		"none by a number that is none": {two, map[string]string{"CUDA_VISIBLE_DEVICES": "-1"}, nil},
		"up to the first that is not a device": {
			two,
			map[string]string{"CUDA_VISIBLE_DEVICES": "1, 0,-1,2"},
			[]string{"1", "0"},
		},
		"the driver before its nodes are made": {
			[]string{"proc/driver/nvidia/gpus/0000:01:00.0/information"},
			nil,
			[]string{"0"},
		},
	} {
		env := func(name string) (string, bool) { v, ok := c.env[name]; return v, ok }
		assert.EqualSlices(t, name, visibleGPUs(env, machine(t, c.files...)), c.want)
	}
}

func TestPlan_GPUs(t *testing.T) {
	two := []string{"0", "1"}
	for _, c := range []struct {
		gpus    string
		workers int // 0 means auto, -1: not given
		visible []string
		want    string // devices; "-" means left as they are
		count   int
		problem string
	}{
		{"", -1, two, "-", 1, ""},
		{"", 3, two, "-", 3, ""},
		{"", 0, two, "-", 2, ""},
		{"", 0, nil, "-", 1, ""},
		{"all", 2, two, "-", 2, ""},
		{"each", -1, two, "0|1", 2, ""},
		{"each", 0, two, "0|1", 2, ""},
		{"each", 1, two, "0", 1, ""},
		{"each", 2, []string{"GPU-aa", "GPU-bb"}, "GPU-aa|GPU-bb", 2, ""},
		{"each", 0, nil, "-", 1, ""},
		{"each", -1, nil, "", 0, "no GPU is visible"},
		{"each", 3, two, "", 0, "3 workers need a GPU each, but only 2 are visible (0,1)"},
		{"0;1;2,3", -1, nil, "0|1|2,3", 3, ""},
		{"0;1;2,3", 0, nil, "0|1|2,3", 3, ""},
		{" 0 ; 2 , 3 ", 2, nil, "0|2,3", 2, ""},
		{"MIG-GPU-12ab/7/0;MIG-34cd", -1, nil, "MIG-GPU-12ab/7/0|MIG-34cd", 2, ""},
		{"0,0", -1, nil, "", 0, "a worker is given 0 twice"},
		{"0;1", 3, nil, "", 0, "has GPUs for 2 workers, but --workers is 3"},
		{"0;;1", -1, nil, "", 0, `invalid GPU ""`},
		{"cuda:0", -1, nil, "", 0, `invalid GPU "cuda:0"`},
	} {
		workers := max(c.workers, 0)
		if c.workers < 0 {
			workers = 1
		}
		plan, err := MakePlan(c.gpus, workers, c.workers >= 0, 1, c.visible)
		switch {
		case c.problem != "":
			assert.True(t, err != nil && strings.Contains(err.Error(), c.problem),
				"--gpus %s --workers %d: got %v, want %q", c.gpus, c.workers, err, c.problem)
			continue
		case err != nil:
			t.Errorf("--gpus %s --workers %d: got %v, want no error", c.gpus, c.workers, err)
			continue
		}
		got := "-"
		if _, own := plan.Device(0); own {
			got = strings.Join(plan.devices, "|")
		}
		assert.True(t, got == c.want && plan.Workers == c.count,
			"--gpus %s --workers %d: got %d workers with %s, want %d with %s", c.gpus, c.workers, plan.Workers, got, c.count, c.want)
	}
}

// TestMakePlan_GPUsThatAreNotHere: a warning, since CUDA would hide them and all behind them without a word.
func TestMakePlan_GPUsThatAreNotHere(t *testing.T) {
	for _, c := range []struct {
		gpus    string
		visible []string
		want    string
	}{
		{"0;1", []string{"0", "1"}, ""},
		{"0;7", []string{"0", "1"}, "--gpus names GPU 7, which is not visible here (0,1)"},
		{"0", nil, "--gpus names GPU 0, which is not visible here (none is)"},
		{"0", []string{"GPU-aa"}, ""},
		{"GPU-aa", []string{"0"}, ""},
	} {
		if plan, err := MakePlan(c.gpus, 0, false, 1, c.visible); err != nil || plan.Warning != c.want {
			t.Errorf("%s of %v: got %q, %v, want %q", c.gpus, c.visible, plan.Warning, err, c.want)
		}
	}
}

// TestMakePlan_Ranks: a group of ranks has as many GPUs as ranks, and sees them all.
func TestMakePlan_Ranks(t *testing.T) {
	four := []string{"0", "1", "2", "3"}
	for _, c := range []struct {
		gpus    string
		workers int // -1: not given
		ranks   int
		want    string // devices of each worker, or the error
	}{
		{"each", -1, 2, "0,1|2,3"},
		{"each", -1, 3, "0,1,2"},
		{"each", 1, 2, "0,1"},
		{"each", -1, 5, "5 ranks need a GPU each, but 4 are visible (0,1,2,3)"},
		{"0,1;2,3", -1, 2, "0,1|2,3"},
	} {
		plan, err := MakePlan(c.gpus, max(1, c.workers), c.workers >= 0, c.ranks, four)
		got := strings.Join(plan.devices, "|")
		if err != nil {
			got = err.Error()
		}
		assert.Equal(t, c.gpus+" for "+c.want, got, c.want)
	}
}
