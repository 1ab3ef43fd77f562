package service

import "pinion/runtime/predict"

// RequestOf is the X-Request-Id of a prediction in flight, "" where it has none. It does not block.
func (s *Service) RequestOf(id string) string {
	if !s.requestIDs.Load() { // most servers are never sent any
		return ""
	}
	for _, kind := range []predict.Kind{predict.KindPrediction, predict.KindTraining} {
		if p := s.registry.Get(kind, id); p != nil {
			return p.Request.RequestID
		}
	}
	return ""
}
