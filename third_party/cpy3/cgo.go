package python3

// #cgo CFLAGS: -std=c11 -O2 -Wall -Wextra -Werror -fvisibility=hidden
// #cgo LDFLAGS: -ldl
import "C"
