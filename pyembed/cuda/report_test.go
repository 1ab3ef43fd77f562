//go:build pinion_test

package cuda

import (
	"encoding/json"
	"fmt"
)

// Report is what is known about the driver. px_cuda_report_json in C writes it as JSON, without empty members except
// for state, devices, seconds and steps.
type Report struct {
	State State `json:"state"`
	// Driver is the newest CUDA version that the driver knows, "12.4"; not the
	// number of the driver package (550.54.15).
	Driver string `json:"driver,omitempty"`
	// Library is the file that was opened.
	Library string `json:"library,omitempty"`
	// Devices are those visible to this process, at most 64.
	Devices []Device `json:"devices"`
	// Seconds are from Start to the end of the driver's start, or to now.
	Seconds float64 `json:"seconds"`
	Steps   Steps   `json:"steps"`
	// Code is the CUresult of the call that failed.
	Code int `json:"code,omitempty"`
	// Error says what happened, Fix what it means and what to do.
	Error string `json:"error,omitempty"`
	Fix   string `json:"fix,omitempty"`
}

// Device is a GPU, or a MIG instance of one.
type Device struct {
	Index             int    `json:"index"` // as torch and cudaSetDevice count
	Name              string `json:"name,omitempty"`
	UUID              string `json:"uuid,omitempty"`     // as nvidia-smi -L writes it
	ComputeCapability string `json:"compute_capability"` // "9.0"
	MemoryTotalBytes  uint64 `json:"memory_total_bytes"`
	// MemoryFreeBytes is the free memory after the context was made. 0 means not known, as for every device but the first,
	// because it takes a context.
	MemoryFreeBytes uint64 `json:"memory_free_bytes,omitempty"`
	PCIBusID        string `json:"pci_bus_id,omitempty"`
}

// Steps are the parts of the start, in seconds.
type Steps struct {
	Load    float64 `json:"load"`    // dlopen
	Init    float64 `json:"init"`    // cuInit
	Context float64 `json:"context"` // cuDevicePrimaryCtxRetain and cuMemGetInfo
}

// readJSON reads the report.
func readJSON() (report Report, err error) {
	text, err := readReport()
	if err != nil {
		return report, err
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return report, fmt.Errorf("read CUDA report: %w", err)
	}
	return report, nil
}
