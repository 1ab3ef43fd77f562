// Package gpu tests the server on a real NVIDIA GPU with torch. Without a GPU, or without torch in the Python, its
// tests are skipped: `./build.sh test-gpu` says which.
package gpu
