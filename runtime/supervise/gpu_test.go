package supervise

import (
	"encoding/json"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// failure returns the body of a prediction that failed so.
func failure(t *testing.T, text string) []byte {
	t.Helper()
	quoted := assert.Must(json.Marshal(text))(t)
	return []byte(`{"metrics":{"predict_time":0.1,"note":"\",\"error\":\"CUDA"},"error":` + string(quoted) + `}`)
}

func TestGPU_Signs(t *testing.T) {
	j := newGPUErrors()
	for _, text := range []string{
		"RuntimeError: CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported at some other API call",
		"torch.AcceleratorError: CUDA error: device-side assert triggered\nSearch for `cudaErrorAssert' in the documentation",
		"RuntimeError: CUDA error: unspecified launch failure",
		"RuntimeError: CUDA error: uncorrectable ECC error encountered",
		"RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered",
		"cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorIllegalAddress: an illegal memory access was encountered",
		"cupy_backends.cuda.api.driver.CUDADriverError: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure",
		"onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : CUDA failure 700: an illegal memory access was encountered ; GPU=0 ; hostname=x ; file=y ; line=1 ; expr=cudaStreamSynchronize(s);",
		"jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to synchronize GPU stream: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered",
		"jax.errors.JaxRuntimeError: INTERNAL: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure",
		"RuntimeError: IExecutionContext::enqueueV3: Error Code 1: Cuda Runtime (an illegal memory access was encountered)",
		"RuntimeError: [executionContext.cpp::enqueue::1] Error Code 1: Cuda Runtime (misaligned address)",
		"numba.cuda.cudadrv.driver.CudaAPIError: [700] Call to cuMemcpyDtoH results in CUDA_ERROR_ILLEGAL_ADDRESS",
		"pycuda._driver.LogicError: cuCtxSynchronize failed: an illegal memory access was encountered",
	} {
		assert.True(t, j.fatal(failure(t, text)), "not seen: %s, want j.fatal(failure(t, text)) true", text)
	}
	for _, text := range []string{
		"",
		"RuntimeError",
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
		"RuntimeError: CUDA error: out of memory",
		"RuntimeError: CUDA error: no kernel image is available for execution on the device",
		"RuntimeError: CUDA error: invalid device ordinal",
		"cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1 bytes",
		"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory",
		// Variables that a client may have set:
		"ValueError: CUDA error: an illegal memory access was encountered",
		"RuntimeError: cannot draw \"RuntimeError: CUDA error: an illegal memory access was encountered\"",
		"RuntimeError: the prompt was: CUDA error: device-side assert triggered",
		"KeyError: 'CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered'",
	} {
		assert.False(t, j.fatal(failure(t, text)),
			"taken for a lost context: %s, want j.fatal(failure(t, text)) false", text)
	}
	assert.True(t, !j.fatal([]byte("no JSON, CUDA")) && !j.fatal(nil), "a lost context of what is not an answer")
}

// TestGPU_SignList: each row is whole, and no row is without a source.
func TestGPU_SignList(t *testing.T) {
	j := newGPUErrors()
	assert.TrueNow(t, len(j.errors) >= 10 && len(j.libraries) >= 5,
		"%d errors, %d libraries, want at least 10 and at least 5", len(j.errors), len(j.libraries))
	for _, e := range j.errors {
		if !strings.HasPrefix(e.names[0], "cudaError") || !strings.HasPrefix(e.names[1], "CUDA_ERROR_") || e.text == "" {
			t.Errorf(`got %+v, want names[0] starting with "cudaError", names[1] starting with "CUDA_ERROR_" and text non-empty`,
				e)
		}
	}
	for line := range strings.Lines(gpuSignText) {
		if f := strings.Split(strings.TrimSpace(line), "\t"); f[0] == "library" && (len(f) != 4 || f[3] == "") {
			t.Errorf("no source: %q: got len(f) %d, want len(f) 4 and f[3] non-empty", line, len(f))
		}
	}
}
