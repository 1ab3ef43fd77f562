package cuda

import (
	"fmt"
	"strings"
)

// State is the state of this process's CUDA driver.
type State string

// The states. Starting leads to one of the five after it. Hanging and Forked are never stored: a reader sees Hanging
// instead of Starting, and Forked instead of any state.
const (
	Off          State = "off"            // Start was not called, or with Disabled
	Starting     State = "starting"       // the side thread is running
	Absent       State = "absent"         // there is no libcuda
	NoDevice     State = "no_device"      // there is a driver, but no device for this process
	DriverTooOld State = "driver_too_old" // the driver does not fit the library or the device
	Failed       State = "failed"         // any other error
	Ready        State = "ready"          // the primary context exists
	Hanging      State = "hanging"        // starting for longer than HangAfter
	Forked       State = "forked"         // this process is a fork of the worker
)

// Meaning is what an error of the driver means to the user of a model.
type Meaning struct {
	// Key is the CUresult in decimal, or the name of a condition that has none.
	Key string
	// State is the state that is reported.
	State State
	// Name is the driver's own name of the error; empty for conditions.
	Name string
	// Fix says what it means and what to do.
	Fix string
}

// Conditions without a CUresult. The C code looks them up by these keys.
const (
	keyNoLibrary = "no_library" // a GPU's device node without libcuda
	keySymbol    = "symbol"     // a libcuda without a function that is needed
	keyHanging   = "hanging"
	keyForked    = "forked"
	keyThread    = "thread" // the side thread could not be made
	keyOther     = "other"  // every CUresult that is not in the table
)

// Meanings lists what can go wrong while the driver starts, in the order of the
// numbers. Numbers and names are those of enum CUresult, "Data types used by CUDA
// driver", CUDA Driver API reference; what a driver answers in which situation is
// from the descriptions there, from the CUDA Compatibility guide (803, 804), from
// the Fabric Manager user guide (802) and from the MPS guide (805 to 809).
func Meanings() []Meaning {
	return []Meaning{
		{
			"1", Failed, "CUDA_ERROR_INVALID_VALUE",
			"the driver refused a plain start: most often CUDA_VISIBLE_DEVICES or another CUDA_ variable has a value that it can't read; unset them and try again",
		},
		{
			"2", Failed, "CUDA_ERROR_OUT_OF_MEMORY",
			"the GPU has no room even for a context (some 0.3 to 0.5 GiB): another process holds its memory; find it with nvidia-smi, stop it, run fewer workers, or choose another GPU with CUDA_VISIBLE_DEVICES",
		},
		{
			"3", Failed, "CUDA_ERROR_NOT_INITIALIZED",
			"the driver could not be initialised in this process, which is so in a fork of a process that had used CUDA; start such processes with the spawn or forkserver method",
		},
		{
			"4", Failed, "CUDA_ERROR_DEINITIALIZED",
			"the driver is shutting down because the process is ending; look for the reason of the exit instead",
		},
		{
			"34", Failed, "CUDA_ERROR_STUB_LIBRARY",
			"the libcuda that was found is the toolkit's stub, made for linking only; take the folder stubs out of LD_LIBRARY_PATH so that the driver's own library is found",
		},
		{
			"35", DriverTooOld, "cudaErrorInsufficientDriver",
			"the driver is older than this CUDA version needs (the number is the CUDA runtime's, used by wrappers of the driver); update the NVIDIA driver, or use packages built for an older CUDA",
		},
		{
			"36", DriverTooOld, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
			"the driver is too old for a function that was called; update the NVIDIA driver of the host",
		},
		{
			"46", Failed, "CUDA_ERROR_DEVICE_UNAVAILABLE",
			"the GPU is busy or closed: another process holds it in the compute mode Exclusive_Process, or the mode is Prohibited; see nvidia-smi -q -d COMPUTE, stop that process or set nvidia-smi -c DEFAULT",
		},
		{
			"100", NoDevice, "CUDA_ERROR_NO_DEVICE",
			"the driver is installed, but this process sees no GPU; in a container start it with docker run --gpus all (NVIDIA Container Toolkit), else see whether nvidia-smi lists one, and whether CUDA_VISIBLE_DEVICES hides it",
		},
		{
			"101", Failed, "CUDA_ERROR_INVALID_DEVICE",
			"CUDA_VISIBLE_DEVICES or the MIG setup names a device that is not there; compare it with nvidia-smi -L",
		},
		{
			"102", Failed, "CUDA_ERROR_DEVICE_NOT_LICENSED",
			"the virtual GPU has no licence; see nvidia-smi -q and the licence service of your vGPU",
		},
		{
			"201", Failed, "CUDA_ERROR_INVALID_CONTEXT",
			"the context was destroyed while the driver started, as cudaDeviceReset in the model's code does; remove that call",
		},
		{
			"214", Failed, "CUDA_ERROR_ECC_UNCORRECTABLE",
			"the GPU met a memory error that it could not correct; see nvidia-smi -q -d ECC, reset the GPU or restart the machine, and replace the card if it comes back",
		},
		{
			"304", Failed, "CUDA_ERROR_OPERATING_SYSTEM",
			"a call to the operating system failed in the driver: most often the container may not open /dev/nvidia* or a limit (ulimit -v, -l, -n) is too low; look into dmesg",
		},
		{
			"700", Failed, "CUDA_ERROR_ILLEGAL_ADDRESS",
			"a kernel of this process has touched memory that is not its own and the context is lost; the worker must be replaced",
		},
		{
			"719", Failed, "CUDA_ERROR_LAUNCH_FAILED",
			"a kernel of this process has crashed and the context is lost; the worker must be replaced",
		},
		{
			"800", Failed, "CUDA_ERROR_NOT_PERMITTED",
			"this user or container may not use the GPU; check the permissions of /dev/nvidia* and the container's device rules",
		},
		{
			"801", Failed, "CUDA_ERROR_NOT_SUPPORTED",
			"the driver does not support this on this system (under WSL or vGPU some functions are missing); update the driver, or set PINION_CUDA=off and let the model start CUDA itself",
		},
		{
			"802", Failed, "CUDA_ERROR_SYSTEM_NOT_READY",
			"the system is not ready for CUDA yet: on machines with NVSwitch the Fabric Manager must run (systemctl status nvidia-fabricmanager) in the very version of the driver; start it, then start again",
		},
		{
			"803", DriverTooOld, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
			"libcuda and the kernel's driver are of different versions: the driver was updated without a restart, or the container brings its own libcuda; restart the machine, or remove the cuda-compat folder from LD_LIBRARY_PATH",
		},
		{
			"804", DriverTooOld, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
			"the image uses CUDA forward compatibility, which works on data centre GPUs only; update the host's driver, or use an image of the CUDA version that nvidia-smi shows",
		},
		{
			"805", Failed, "CUDA_ERROR_MPS_CONNECTION_FAILED",
			"the process is set up for MPS and reaches no MPS daemon; start nvidia-cuda-mps-control -d, or unset CUDA_MPS_PIPE_DIRECTORY",
		},
		{
			"806", Failed, "CUDA_ERROR_MPS_RPC_FAILURE",
			"the MPS server did not answer properly; restart it (echo quit | nvidia-cuda-mps-control)",
		},
		{
			"807", Failed, "CUDA_ERROR_MPS_SERVER_NOT_READY",
			"the MPS server is starting or recovering from another client's fault; try again in some seconds",
		},
		{
			"808", Failed, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED",
			"the MPS server has as many clients as it can have; run fewer workers on this GPU",
		},
		{
			"809", Failed, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED",
			"the GPU has no more connections for MPS clients; run fewer workers on it",
		},
		{
			"999", Failed, "CUDA_ERROR_UNKNOWN",
			"the driver gives no reason; usual ones are the kernel module nvidia_uvm that is not loaded (modprobe nvidia_uvm, or run nvidia-smi once on the host), a machine that was suspended, or a GPU that fell off the bus (dmesg shows Xid lines); a restart of the machine fixes most",
		},

		{
			keyNoLibrary, Absent, "",
			"the machine has an NVIDIA GPU, but libcuda.so.1 is not found; in a container set NVIDIA_DRIVER_CAPABILITIES=compute,utility and start it with docker run --gpus all, else install the driver's library (Debian: libcuda1, Ubuntu: libnvidia-compute-NNN)",
		},
		{
			keySymbol, DriverTooOld, "",
			"the library is older than CUDA 7, or no CUDA driver at all; install a current NVIDIA driver",
		},
		{
			keyHanging, Hanging, "",
			"the model will hang as well when it uses the GPU; see whether nvidia-smi answers, look for Xid lines in dmesg, switch persistence mode on (nvidia-smi -pm 1) where many GPUs only are slow; PINION_CUDA=off leaves the start to the model",
		},
		{
			keyForked, Forked, "",
			"CUDA does not work in a fork of a process that uses it; start processes that need the GPU with the spawn or forkserver method",
		},
		{
			keyThread, Failed, "",
			"the process may have no more threads; raise its limit (ulimit -u, docker run --pids-limit)",
		},
		{
			keyOther, Failed, "",
			"see this number under CUresult in the CUDA Driver API reference; try nvidia-smi, then a restart of the machine; PINION_CUDA=off leaves the start to the model",
		},
	}
}

// encode returns the table in the form that px_cuda_start reads.
func encode(table []Meaning, visible string) string {
	var b strings.Builder
	for _, m := range table {
		fix := m.Fix
		if m.State == NoDevice && visible != "" {
			fix += "; " + visible
		}
		for _, field := range []string{m.Key, string(m.State), m.Name, fix} {
			// A NUL ends a field. No field has one, since not even the environment can.
			b.WriteString(strings.ReplaceAll(field, "\x00", ""))
			b.WriteByte(0)
		}
	}
	return b.String()
}

// visibleDevices describes the value of CUDA_VISIBLE_DEVICES, the usual reason for no device.
func visibleDevices(value string, set bool) string {
	const longest = 200
	if !set {
		return ""
	}
	if len(value) > longest {
		value = value[:longest] + "..."
	}
	return fmt.Sprintf("CUDA_VISIBLE_DEVICES is %q here", value)
}
