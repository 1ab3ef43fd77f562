package bufpool

import (
	"math/bits"
	"sync"
)

// The pool holds slices of Min to Max bytes. Get allocates slices of other sizes, and Put drops them.
const (
	Min = 4 << 10
	Max = 16 << 20
)

const (
	lowest  = 12 // 1<<lowest is Min
	highest = 24
)

// pools holds slices by capacity, which is a power of two.
var pools [highest - lowest + 1]sync.Pool

// Get returns a slice of n bytes with arbitrary content.
func Get(n int) []byte {
	if n < Min || n > Max {
		return make([]byte, n)
	}
	class := bits.Len(uint(n-1)) - lowest
	if b, ok := pools[class].Get().(*[]byte); ok {
		return (*b)[:n]
	}
	return make([]byte, n, 1<<(class+lowest))
}

// Size is how many bytes of memory Get(n) takes.
func Size(n int) int {
	if n < Min || n > Max {
		return n
	}
	return 1 << bits.Len(uint(n-1))
}

// Put returns a slice that is no longer in use. It need not come from Get.
func Put(b []byte) {
	Poison(b[:cap(b)])
	if c := cap(b); c >= Min && c <= Max && c&(c-1) == 0 {
		b = b[:0]
		pools[bits.Len(uint(c-1))-lowest].Put(&b)
	}
}
