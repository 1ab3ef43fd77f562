package protocols

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// hoard is a server of a model that keeps arrays.
type hoard struct {
	*harness.Server
	t    *testing.T
	path string
}

func newHoard(t *testing.T, class string, args ...string) hoard {
	t.Helper()
	python := harness.Pythons(t)[0]
	harness.NeedModule(t, python, "numpy")
	args = append(args, "--model", "m", "--workers", "1", "--queue", "64", "--max-body", "67108864")
	return hoard{
		harness.Ready(t, harness.Options{Python: python.Path, Model: "hoard.py:" + class, Args: args}), t,
		"/v2/models/m/infer",
	}
}

// request is n numbers from first on, and its header.
func (h hoard) request(n int, first float32, how string) (body []byte, head string) {
	body, _ = binaryTensor(n, first, how)
	body = bytes.Replace(body, []byte(`"do"`), []byte(`"how"`), 1)
	return body, strconv.Itoa(len(body) - 4*n)
}

// ask sends n numbers, and wants an answer that ends with those.
func (h hoard) ask(n int, first float32, how string, want []byte) {
	h.t.Helper()
	body, head := h.request(n, first, how)
	a := h.Do(http.MethodPost, h.path, body, "Inference-Header-Content-Length", head)
	assert.True(h.t, a.Code == http.StatusOK && bytes.HasSuffix(a.Body, want),
		"%d numbers from %g on, %q: %d %.300s, want Code 200 and Body ending in %q", n, first, how, a.Code,
		a.Body[:min(300, len(a.Body))], want)
}

// same wants the numbers back that it sends.
func (h hoard) same(n int, first float32, how string) {
	h.t.Helper()
	h.ask(n, first, how, numbers(n, func(i int) float32 { return first + float32(i%1000) }))
}

// others are requests of which no array is kept: more than the worker copies after one that was.
func (h hoard) others() {
	h.t.Helper()
	for i := range 20 {
		h.same(50_000, float32(1000*i), "-")
	}
}

// check has the model look at what it kept.
func (h hoard) check() {
	h.t.Helper()
	h.same(30_000, 5, "check")
}

// TestOIPViews_ArraysUseRequestsMemory: an array is the memory of its request, without a copy. However the model keeps
// it or a part of it, no later request changes it, and what the model writes to it later changes no answer.
func TestOIPViews_ArraysUseRequestsMemory(t *testing.T) {
	t.Parallel()
	h := newHoard(t, "Sync")
	h.others()
	for i, how := range []string{
		"array", "slice", "strided", "reshaped", "other dtype", "memoryview", "frombuffer", "base", "cycle", "thread",
	} {
		h.same(50_000, float32(i), how)
		h.WaitLog(how + ": the request's memory")
		h.others()
	}
	h.ask(50_000, 3, "fork", numbers(50_000, func(i int) float32 { return 2 + float32(i%1000) }))
	h.WaitLog("fork: the request's memory")
	h.others()
	h.ask(50_000, 3, "in place", numbers(50_000, func(i int) float32 { return 4 + float32(i%1000) }))
	h.ask(50_000, 3, "part", numbers(49_995, func(i int) float32 { return 3 + float32((i+5)%1000) }))
	h.ask(50_000, 3, "twice", numbers(100_000, func(i int) float32 { return 3 + float32(i%50_000%1000) }))
	h.check()
}

// TestOipViews_ArraysAreKept: what a model keeps of a hundred predictions, of several clients at once, stays as it was:
// also of predictions that fail or are canceled.
func TestOipViews_ArraysAreKept(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"Sync", "Async", "Batched"} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			h := newHoard(t, class)
			var clients sync.WaitGroup
			for client := range 4 {
				clients.Go(func() {
					for i := range 25 {
						h.same([]int{50_000, 20_000, 250_000}[i%3], float32(100*client+i),
							[]string{"array", "slice", "memoryview", "-", "-"}[i%5])
					}
				})
			}
			clients.Wait()
			if class == "Sync" {
				h.ends()
			}
			h.check()
		})
	}
}

// ends makes predictions that keep an array and do not succeed.
func (h hoard) ends() {
	h.t.Helper()
	h.others()
	body, head := h.request(50_000, 6, "raise")
	a := h.Do(http.MethodPost, h.path, body, "Inference-Header-Content-Length", head)
	assert.True(h.t, a.Code == http.StatusInternalServerError, "it raised: %d %.300s, want 500", a.Code, a.Body)
	h.WaitLog("raise: the request's memory")
	h.others()
	leave, left := context.WithCancel(h.t.Context())
	body, head = h.request(50_000, 7, "wait")
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.DoContext(leave, http.MethodPost, h.path, body, "Inference-Header-Content-Length", head)
	}()
	h.WaitLog("wait: the request's memory")
	h.WaitLog("waiting")
	left()
	<-done
	h.others()
	h.check()
	body, head = h.request(50_000, 8, "crash")
	a = h.Do(http.MethodPost, h.path, body, "Inference-Header-Content-Length", head)
	assert.True(h.t, a.Code == http.StatusInternalServerError, "it crashed: %d %.300s, want 500", a.Code, a.Body)
	h.WaitHealth("READY")
	h.others()
}

// TestOipViews_KeptArrayChangesNoAnswer: the answer is the array as it was when the model returned it, though the model
// writes to that while the client still reads.
func TestOipViews_KeptArrayChangesNoAnswer(t *testing.T) {
	t.Parallel()
	h := newHoard(t, "Sync")
	const n = 4_000_000 // more than sockets hold
	body, head := h.request(n, 2, "write later")
	conn := h.Dial()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nInference-Header-Content-Length: %s\r\n\r\n",
		h.path, len(body), head)
	if _, err := conn.Write(body); err != nil {
		t.Fatal(err)
	}
	h.WaitLog("write later: the request's memory")
	h.same(50_000, 1, "-") // the model writes to the first array
	answer := assert.Must(http.ReadResponse(bufio.NewReader(conn), nil))(t)
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if want := numbers(n, func(i int) float32 { return 2 + float32(i%1000) }); err != nil || !bytes.HasSuffix(got, want) {
		t.Errorf("%d bytes, %v: not what the model returned, want it to end in %q", len(got), err, want)
	}
}

// TestOipViews_SmallArraysAreCopied: a model that keeps a small array of a large request does not hold the memory of
// the request.
func TestOipViews_SmallArraysAreCopied(t *testing.T) {
	t.Parallel()
	h := newHoard(t, "Two")
	for small, want := range map[int]string{32 << 10: "Elements bytearray", 256 << 10: "Elements Elements"} {
		const large = 2 << 20 // numbers
		text := fmt.Sprintf(`{"inputs":[{"name":"x","datatype":"FP32","shape":[%d],"parameters":{"binary_data_size":%d}},`+
			`{"name":"small","datatype":"FP32","shape":[%d],"parameters":{"binary_data_size":%d}}]}`, large, 4*large, small,
			4*small)
		body := append([]byte(text), numbers(large+small, func(int) float32 { return 1 })...)
		a := h.Do(http.MethodPost, h.path, body, "Inference-Header-Content-Length", strconv.Itoa(len(text)))
		assert.True(t, a.Code == http.StatusOK && bytes.Contains(a.Body, []byte(`["`+want+`"]`)),
			"%d numbers beside %d: %d %s, want %s", small, large, a.Code, a.Body, want)
	}
}
