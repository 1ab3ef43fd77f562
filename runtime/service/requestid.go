package service

import "pinion/runtime/predict"

// RequestOf returns the X-Request-Id of a prediction in flight, or "". It does not block.
func (s *Service) RequestOf(id string) string {
	if !s.requestIDs.Load() { // most servers never receive one
		return ""
	}
	for _, kind := range []predict.Kind{predict.KindPrediction, predict.KindTraining} {
		if p := s.registry.Get(kind, id); p != nil {
			return p.Request.RequestID
		}
	}
	for name := range s.model.Load().functions {
		if p := s.registry.Get(predict.KindPrediction, predict.FunctionID(name, id)); p != nil {
			return p.Request.RequestID
		}
	}
	return ""
}
