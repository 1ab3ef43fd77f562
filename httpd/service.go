package httpd

import "pinion/httpd/place"

// Who answers a server's requests; see package place.
type (
	Service      = place.Service
	Prober       = place.Prober
	Route        = place.Route
	JobQueue     = place.Queue
	QueueOptions = place.QueueOptions
)

// ErrNoModel is why a server answers no prediction at its root while SageMaker has loaded no model.
var ErrNoModel = place.ErrNoModel
