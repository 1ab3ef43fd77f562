package main

// rounding is how far off a duration may be, in seconds: sleep and answers round it.
const rounding = 20e-6

// durations checks the time that the server reports for a prediction in the model: it is at least as long as the model
// slept, if it came to its end, and no longer than its client waited.
func (v *findings) durations(p *prediction) {
	for _, e := range p.observed {
		if e.Took == nil {
			continue
		}
		v.counts["durations"]++
		least, most := 0.0, float64(e.At-p.asked.At)/1e9+rounding
		if e.Status == "succeeded" {
			least = max(0, p.asked.Wait-rounding)
		}
		if took := *e.Took; !(took >= least && took <= most) {
			v.complain("%s (%s): %s says that it took %f s: it slept for %f s, and was told of at %f s",
				p.id, p.asked.Mode, e.What, took, p.asked.Wait, most)
		}
	}
}
