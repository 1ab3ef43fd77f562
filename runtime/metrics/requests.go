package metrics

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// maxRequests bounds the combinations of route, method and code. There are about 25 routes and methods, with few codes
// each.
const maxRequests = 500

// maxCodes bounds the codes of all other requests, beyond maxRequests.
const maxCodes = 501

// other is the label for the rest.
const other = "other"

type requestKey struct {
	route, method string
	code          int
}

// requests are the requests with one combination of labels; the histogram has their count.
type requests struct {
	labels []Label
	took   *histogram
}

// Request records an answered request: its route's pattern, for example "/predictions/{id}" ("" means no route),
// method, status code, and the time to its answer (of a stream, to its start). The strings are not retained.
func (s *Set) Request(route, method string, code int, took time.Duration) {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
	default:
		method = other
	}
	route = cmp.Or(route, other)
	r := s.requests.snapshot()[requestKey{route, method, code}]
	if r == nil {
		r = s.newRequest(requestKey{strings.Clone(route), strings.Clone(method), code})
	}
	r.took.observe(took)
}

func (s *Set) newRequest(key requestKey) *requests {
	fresh := func(k requestKey) *requests {
		return &requests{
			labels: pairs("code", strconv.Itoa(k.code), "method", k.method, "route", k.route),
			took:   s.predictions.queue.bounds.histogram(),
		}
	}
	if key.code < 100 || key.code > 599 {
		key.code = 0 // not a valid status
	}
	if r := s.requests.add(key, maxRequests, fresh); r != nil {
		return r
	}
	return s.requests.add(requestKey{other, other, key.code}, maxRequests+maxCodes, fresh)
}

func (s *Set) gatherRequests(g *gathered) {
	gatherAnswered(g, s.requests.snapshot(), "pinion_http_requests_total", "Requests answered.",
		"pinion_http_request_duration_seconds", "Time from a request's arrival to its answer; of a stream, to its beginning.")
}

// gatherAnswered adds how many requests or calls were answered, and how long they took, unless there was none.
func gatherAnswered[K comparable](g *gathered, answered map[K]*requests,
	count, countHelp, duration, durationHelp string,
) {
	if len(answered) == 0 {
		return
	}
	g.family(count, Counter, countHelp)
	for _, r := range answered {
		g.sample(Sample{Labels: r.labels, Value: float64(r.took.count())})
	}
	g.sort()
	g.family(duration, Histogram, durationHelp)
	for _, r := range answered {
		g.sample(Sample{Labels: r.labels, Histogram: sumOf(r.took)})
	}
	g.sort()
}
