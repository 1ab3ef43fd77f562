package metrics

import "time"

// Mirror compares a version of a model that got copies of requests with the version that served them.
type Mirror struct {
	Same      uint64 // the copy ended as the request
	Different uint64
	LeftOut   uint64 // there was no copy, or nothing to compare
	// Served and Mirrored are how long the predictions took that were compared, together.
	Served, Mirrored time.Duration
}

// gatherMirror writes nothing for a version that is not a mirror.
func (s *Set) gatherMirror(g *gathered) {
	if s.o.Mirror == nil {
		return
	}
	m := s.o.Mirror()
	if m == nil {
		return
	}
	g.family("pinion_mirrored_predictions_total", Counter,
		"Predictions that were copied to this version, by whether the copy ended alike.")
	g.value(float64(m.Different), "result", "different")
	g.value(float64(m.LeftOut), "result", "left_out")
	g.value(float64(m.Same), "result", "same")
	g.family("pinion_mirrored_predict_seconds_total", Counter,
		"Time of the compared predictions: those that were served, and their copies.")
	g.value(m.Mirrored.Seconds(), "of", "mirror")
	g.value(m.Served.Seconds(), "of", "served")
}
