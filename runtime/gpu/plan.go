package gpu

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Plan says which GPUs each worker gets.
type Plan struct {
	// devices has an entry for each worker: the value of its CUDA_VISIBLE_DEVICES. If nil, the variable is not changed.
	devices []string
	Workers int
	Warning string // a warning for the operator, or ""
}

// Device returns the value for worker i, and whether it has one.
func (p Plan) Device(i int) (string, bool) {
	if p.devices == nil {
		return "", false
	}
	return p.devices[i], true
}

// MakePlan distributes the GPUs to workers of that many ranks, 0 as 1. gpus is the value of --gpus, and workers that of --workers, with 0 for auto. set
// reports whether --workers was given; visible are the GPUs of the machine.
func MakePlan(gpus string, workers int, set bool, ranks int, visible []string) (Plan, error) {
	ranks = max(1, ranks)
	switch gpus {
	case "", "all":
		plan := Plan{Workers: workers}
		if workers == 0 {
			plan.Workers = max(1, len(visible)/ranks)
			if plan.Workers > 1 {
				plan.Warning = "each worker sees all GPUs, and most models take the first: --gpus each gives each worker its own"
			}
		}
		return plan, nil
	case "each":
		if ranks > len(visible) && ranks > 1 {
			return Plan{}, fmt.Errorf("%d ranks need a GPU each, but %d are visible (%s)", ranks, len(visible),
				cmp.Or(strings.Join(visible, ","), "none"))
		}
		return planEach(workers, set, inShares(visible, ranks))
	default:
		devices, err := parseGPUs(gpus)
		if err == nil && set && workers != 0 && workers != len(devices) {
			err = fmt.Errorf("has GPUs for %d workers, but --workers is %d", len(devices), workers)
		}
		return Plan{devices: devices, Workers: len(devices), Warning: unseen(devices, visible)}, err
	}
}

// inShares joins the GPUs of each worker.
func inShares(visible []string, ranks int) (shares []string) {
	for ; len(visible) >= ranks; visible = visible[ranks:] {
		shares = append(shares, strings.Join(visible[:ranks], ","))
	}
	return shares
}

func planEach(workers int, set bool, visible []string) (Plan, error) {
	switch {
	case workers == 0 && len(visible) == 0: // a model may work without a GPU too
		return Plan{Workers: 1, Warning: "no GPU is visible: starting one worker without a GPU"}, nil
	case len(visible) == 0:
		return Plan{}, fmt.Errorf("no GPU is visible: CUDA_VISIBLE_DEVICES, NVIDIA_VISIBLE_DEVICES and /dev/nvidia0 show none")
	case !set || workers == 0:
		workers = len(visible)
	case workers > len(visible):
		return Plan{}, fmt.Errorf("%d workers need a GPU each, but only %d are visible (%s)", workers, len(visible),
			strings.Join(visible, ","))
	}
	return Plan{devices: visible[:workers], Workers: workers}, nil
}

// gpuName matches the names of devices in CUDA_VISIBLE_DEVICES: a number, or (the beginning of) the identifier of a GPU
// or of a part of one, of which "MIG-GPU-<uuid>/<gi>/<ci>" is the older form.
var gpuName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^([0-9]+|GPU-[0-9a-fA-F-]+|MIG-[0-9a-zA-Z/-]+)$`)
})

// parseGPUs parses a list such as "0;1;2,3". Semicolons separate workers, commas the GPUs of one worker.
func parseGPUs(list string) ([]string, error) {
	var devices []string
	for worker := range strings.SplitSeq(list, ";") {
		var names []string
		for name := range strings.SplitSeq(worker, ",") {
			name = strings.TrimSpace(name)
			if !gpuName().MatchString(name) {
				return nil, fmt.Errorf("invalid GPU %q: must be a number, GPU-… or MIG-…, as nvidia-smi -L shows them", name)
			}
			if slices.Contains(names, name) {
				return nil, fmt.Errorf("a worker is given %s twice, which CUDA refuses", name)
			}
			names = append(names, name)
		}
		devices = append(devices, strings.Join(names, ","))
	}
	return devices, nil
}

// unseen returns a warning about numbers of GPUs that do not exist, because CUDA ignores all that follow one. It does
// not check identifiers, which may be abbreviated and, for parts, have several forms.
func unseen(devices, visible []string) string {
	for _, name := range visible {
		if _, err := strconv.Atoi(name); err != nil {
			return ""
		}
	}
	for _, worker := range devices {
		for name := range strings.SplitSeq(worker, ",") {
			if _, err := strconv.Atoi(name); err == nil && !slices.Contains(visible, name) {
				return fmt.Sprintf("--gpus names GPU %s, which is not visible here (%s)", name,
					cmp.Or(strings.Join(visible, ","), "none is"))
			}
		}
	}
	return ""
}

// visibleGPUs returns the GPUs that a process started here would see, as CUDA_VISIBLE_DEVICES names them. CUDA
// itself is not asked, because the front never loads it. root is "/", except in tests.
func visibleGPUs(env func(string) (string, bool), root string) []string {
	if list, set := env("CUDA_VISIBLE_DEVICES"); set {
		return listed(list)
	}
	nodes := gpuNodes(root)
	if len(nodes) == 0 {
		return nil
	}
	// In a container, this names the GPUs that the runtime has passed in. Identifiers are the same inside, and parts of
	// GPUs have no other name; numbers are assigned anew.
	if list, _ := env("NVIDIA_VISIBLE_DEVICES"); strings.HasPrefix(list, "GPU-") || strings.HasPrefix(list, "MIG-") {
		return listed(list)
	}
	return nodes
}

// listed parses CUDA_VISIBLE_DEVICES as CUDA does: it ignores everything from the first invalid name on.
func listed(list string) (names []string) {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); !gpuName().MatchString(name) {
			break
		}
		names = append(names, name)
	}
	return names
}

// gpuNodes counts the GPUs by their device nodes, of which a container has those that it may use.
func gpuNodes(root string) (names []string) {
	found, _ := filepath.Glob(filepath.Join(root, "dev/nvidia[0-9]*")) // a fixed pattern
	if len(found) == 0 {
		// There are no nodes yet: the first program that uses the driver makes them.
		found, _ = filepath.Glob(filepath.Join(root, "proc/driver/nvidia/gpus/*"))
	}
	for i := range found {
		names = append(names, strconv.Itoa(i))
	}
	return names
}

// Visible returns the GPUs that workers of this process would see.
func Visible() []string { return visibleGPUs(os.LookupEnv, "/") }
