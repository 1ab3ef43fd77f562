package slot

import "testing"

// BenchmarkQueued is the cost of a call that waits and is canceled: no system calls.
func BenchmarkQueued(b *testing.B) {
	b.ReportAllocs()
	p := NewPool(Options{Queue: 10})
	for b.Loop() {
		runCall(b, p, p.Cancel)
	}
}

// BenchmarkEcho is the way of a call through one slot and back, with many clients. The worker's goroutine is included.
func BenchmarkEcho(b *testing.B) {
	b.ReportAllocs()
	p := NewPool(Options{Queue: 1000})
	newWorker(b, p, 1).serve(echo)
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			runCall(b, p, func(*Call) {})
		}
	})
}

func runCall(b *testing.B, p *Pool, then func(*Call)) {
	if err := p.Admit(nil); err != nil {
		b.Error(err)
		return
	}
	c := NewCall("a", []byte("{}"), nil)
	p.Submit(c)
	then(c)
	c.Wait()
}
