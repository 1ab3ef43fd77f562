package pyembed

// #cgo CFLAGS: -std=c11 -D_DEFAULT_SOURCE -O2 -Wall -Wextra -Werror -fvisibility=hidden -I${SRCDIR}/../third_party/cpy3
// #cgo LDFLAGS: -ldl -lpthread
import "C"
