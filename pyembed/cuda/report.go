package cuda

// State is where the CUDA driver of this process is.
type State string

// The states. starting leads to one of the five after it; hanging and forked are
// what a reader sees of starting and of any state, and never stored.
const (
	Off          State = "off"            // Start was not called, or with Disabled
	Starting     State = "starting"       // the side thread is at work
	Absent       State = "absent"         // there is no libcuda here
	NoDevice     State = "no_device"      // a driver, and no device for this process
	DriverTooOld State = "driver_too_old" // the driver does not fit the library or the device
	Failed       State = "failed"         // any other error
	Ready        State = "ready"          // the primary context is there
	Hanging      State = "hanging"        // starting for longer than HangAfter
	Forked       State = "forked"         // this process is a fork of the worker
)

// Report is what is known of the driver. Its JSON is what px_cuda_report_json in C
// writes; a member that is empty there is left out, except for state, devices,
// seconds and steps.
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
	// Error says what happened, Hint what it means and what to do.
	Error string `json:"error,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

// Device is a GPU, or a MIG instance of one.
type Device struct {
	Index             int    `json:"index"` // as torch and cudaSetDevice count
	Name              string `json:"name,omitempty"`
	UUID              string `json:"uuid,omitempty"`     // as nvidia-smi -L writes it
	ComputeCapability string `json:"compute_capability"` // "9.0"
	MemoryTotalBytes  uint64 `json:"memory_total_bytes"`
	// MemoryFreeBytes is what was free once the context stood; 0: not known, as for
	// every device but the first: to know it would take a context there.
	MemoryFreeBytes uint64 `json:"memory_free_bytes,omitempty"`
	PCIBusID        string `json:"pci_bus_id,omitempty"`
}

// Steps are the parts of the start, in seconds.
type Steps struct {
	Load    float64 `json:"load"`    // dlopen
	Init    float64 `json:"init"`    // cuInit
	Context float64 `json:"context"` // cuDevicePrimaryCtxRetain and cuMemGetInfo
}
