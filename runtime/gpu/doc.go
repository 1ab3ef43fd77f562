// Package gpu decides which GPUs each worker sees. It reads CUDA_VISIBLE_DEVICES and /dev and never loads the CUDA
// driver.
package gpu
