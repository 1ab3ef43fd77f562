//go:build pinion_test || race || asan

package bufpool

// Poison overwrites bytes that nobody may read any more. Only test builds do that, so whoever still sends or keeps such
// bytes is seen at once.
func Poison(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}
