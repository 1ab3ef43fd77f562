package metrics

import "strings"

// Bounds of label values that only this server's code sets.
const (
	maxDeliveries = 64
	maxTransfers  = 32
)

type webhooks struct{ deliveries table[delivery, counter] }

type delivery struct{ event, outcome string }

// Webhook records the outcome of an event's delivery to a webhook.
func (s *Set) Webhook(event, outcome string) {
	key := delivery{event, outcome}
	c := s.webhooks.deliveries.snapshot()[key]
	if c == nil {
		c = s.webhooks.deliveries.add(delivery{strings.Clone(event), strings.Clone(outcome)}, maxDeliveries, nil)
	}
	if c != nil {
		c.Add(1)
	}
}

// init makes the known counters at 0: Prometheus sees a first event as an increase only after a 0.
func (w *webhooks) init() {
	for _, event := range []string{"start", "output", "logs", "completed"} {
		for _, outcome := range []string{"delivered", "failed", "dropped"} {
			w.deliveries.add(delivery{event, outcome}, maxDeliveries, nil)
		}
	}
}

func (w *webhooks) gather(g *gathered) {
	g.family("pinion_webhook_deliveries_total", Counter, "Deliveries to webhooks that have ended, retries not counted.")
	for d, n := range w.deliveries.snapshot() {
		g.value(float64(n.Load()), "event", d.event, "outcome", d.outcome)
	}
	g.sort()
}

type transfer struct{ direction, outcome string }

// transfers are the transfers with one combination of labels.
type transfers struct{ files, bytes counter }

// Transfer records the outcome of a download or upload, and how many bytes were transferred.
func (s *Set) Transfer(direction, outcome string, bytes int64) {
	t := s.files.snapshot()[transfer{direction, outcome}]
	if t == nil {
		t = s.files.add(transfer{strings.Clone(direction), strings.Clone(outcome)}, maxTransfers, nil)
	}
	if t != nil {
		t.files.Add(1)
		t.bytes.Add(uint64(max(0, bytes)))
	}
}

func (s *Set) initTransfers() {
	for _, direction := range []string{"download", "upload"} {
		for _, outcome := range []string{"succeeded", "failed", "canceled"} {
			s.files.add(transfer{direction, outcome}, maxTransfers, nil)
		}
	}
}

func (s *Set) gatherTransfers(g *gathered) {
	byKind := s.files.snapshot()
	g.family("pinion_file_transfers_total", Counter, "Files whose download or upload has ended.")
	for t, n := range byKind {
		g.value(float64(n.files.Load()), "direction", t.direction, "outcome", t.outcome)
	}
	g.sort()
	g.family("pinion_file_transfer_bytes_total", Counter, "Bytes of files that were downloaded or uploaded.")
	for t, n := range byKind {
		g.value(float64(n.bytes.Load()), "direction", t.direction, "outcome", t.outcome)
	}
	g.sort()
}
