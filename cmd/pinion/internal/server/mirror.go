package server

import (
	"bytes"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pinion/runtime/metrics"
	"pinion/runtime/predict"
)

const (
	// maxShadows is how many copies of requests a mirror may have in flight. More are left out.
	maxShadows = 64
	// maxShadow is how long the input of a copied request may be, in bytes.
	maxShadow = 16 << 20
)

// mirrored counts the requests of which a version got copies, and compares what came of them.
type mirrored struct {
	same, different, leftOut atomic.Uint64
	served, shadow           atomic.Int64 // how long the predictions took, in nanoseconds
	inFlight                 atomic.Int64
}

// stats returns the counts for /metrics, or nil if the version was not a mirror.
func (m *mirrored) stats() *metrics.Mirror {
	if m == nil {
		return nil
	}
	return &metrics.Mirror{
		Same: m.same.Load(), Different: m.different.Load(), LeftOut: m.leftOut.Load(),
		Served: time.Duration(m.served.Load()), Mirrored: time.Duration(m.shadow.Load()),
	}
}

// shadow is a copy of a request. Its answer is dropped. nil means the request is left out.
type shadow struct {
	to     *target
	req    predict.Request
	served *predict.Prediction // of the request, until its end
}

// newShadow copies a request before its prediction takes it over. The copy shares no memory with the request: it is
// charged to the copies' own budget, so that a mirror that hangs holds nothing that the other version needs.
func newShadow(to *target, req *predict.Request) *shadow {
	size, counts := shadowSize(req), to.mirrored
	if req.Kind != predict.KindPrediction || req.Inlet != nil || size > maxShadow || !to.isReady() ||
		counts.inFlight.Load() >= maxShadows || !to.server.copies.Take(size, size) {
		counts.leftOut.Add(1)
		return nil
	}
	s := &shadow{to: to, req: predict.Request{
		Kind: req.Kind, Input: bytes.Clone(req.Input), Context: bytes.Clone(req.Context), Form: slices.Clone(req.Form),
		Tensors: slices.Clone(req.Tensors), Deadline: req.Deadline, Callers: req.Callers,
		WantPaths: true, WantTensors: true, // nothing is uploaded
		Copy: to.server.copies, Charged: size,
	}}
	for i := range s.req.Form {
		s.req.Form[i].Value = bytes.Clone(s.req.Form[i].Value)
	}
	for i := range s.req.Tensors {
		s.req.Tensors[i].Data = bytes.Clone(s.req.Tensors[i].Data)
	}
	if req.Attachments != nil {
		of := &sharedFiles{Attachments: req.Attachments}
		of.holders.Store(2)
		req.Attachments, s.req.Attachments = &heldFiles{sharedFiles: of}, &heldFiles{sharedFiles: of}
	}
	return s
}

// shadowSize returns how many bytes the copy of a request holds, in memory and in files.
func shadowSize(req *predict.Request) int64 {
	size := len(req.Input) + len(req.Context)
	for _, f := range req.Form {
		size += len(f.Value)
	}
	for _, t := range req.Tensors {
		size += len(t.Data)
	}
	if req.Attachments == nil {
		return int64(size)
	}
	files := int64(0)
	for i := 0; req.Attachments.Path(i) != ""; i++ {
		if info, err := os.Stat(req.Attachments.Path(i)); err == nil {
			files += info.Size()
		}
	}
	return int64(size) + files
}

// sharedFiles are the files of a request and of its copy. They are removed when both have ended.
type sharedFiles struct {
	predict.Attachments
	holders atomic.Int32
}

// heldFiles are the files as one of the two holds them.
type heldFiles struct {
	*sharedFiles
	once sync.Once
}

// Close implements predict.Attachments.
func (f *heldFiles) Close() {
	f.once.Do(func() {
		if f.holders.Add(-1) == 0 {
			f.Attachments.Close()
		}
	})
}

// drop frees a copy that does not run.
func (s *shadow) drop() {
	if s == nil {
		return
	}
	s.req.Copy.Free(s.req.Charged)
	if s.req.Attachments != nil {
		s.req.Attachments.Close()
	}
}

// follow runs the copy beside the prediction of the request.
func (s *shadow) follow(p *predict.Prediction) {
	if s == nil {
		return
	}
	s.served = p
	s.to.mirrored.inFlight.Add(1)
	go func() {
		defer s.to.mirrored.inFlight.Add(-1)
		s.run()
	}()
}

func (s *shadow) run() {
	copied, err := s.to.create(&s.req)
	if err != nil {
		s.drop()
		s.compareRefusal(err)
		return
	}
	defer copied.Release()
	ended := make(chan error, 1)
	go func() { ended <- copied.Run() }()
	<-s.served.Done()
	served := s.served.Record()
	served.Input, served.Output, served.Logs = nil, nil, nil
	if s.served.CancelAsked() { // the client's cancel is not the mirror's doing
		copied.Cancel()
	}
	s.served = nil // a copy that hangs must not keep its memory
	if err := <-ended; err != nil {
		s.to.mirrored.leftOut.Add(1)
		return
	}
	s.compare(&served, copied.Record())
}

// compareRefusal counts an input that the mirror refuses and the other version does not.
func (s *shadow) compareRefusal(err error) {
	if predict.RefusalOf(err).Kind == predict.RefusedValues {
		s.to.mirrored.different.Add(1)
		s.to.Log.Warn("the mirror refused a request that was served", "error", err)
		return
	}
	s.to.mirrored.leftOut.Add(1)
}

func (s *shadow) compare(served *predict.Record, copied predict.Record) {
	counts := s.to.mirrored
	if served.Status == predict.Canceled {
		counts.leftOut.Add(1)
		return
	}
	counts.served.Add(int64(served.Completed.Sub(served.Started)))
	counts.shadow.Add(int64(copied.Completed.Sub(copied.Started)))
	if served.Status == copied.Status {
		counts.same.Add(1)
		return
	}
	counts.different.Add(1)
	s.to.Log.Warn("the mirror's prediction ended differently", "served", served.Status.String(), "mirror",
		copied.Status.String(),
		"error", copied.Error)
}
