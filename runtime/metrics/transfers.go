package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Bounds of label values that only this server's code sets.
const (
	maxDeliveries = 64
	maxTransfers  = 32
)

// delivery has the labels of a webhook's delivery.
type delivery struct{ event, outcome string }

// Webhook records the outcome of an event's delivery to a webhook.
func (s *Set) Webhook(event, outcome string) {
	key := delivery{event, outcome}
	c := s.webhooks.snapshot()[key]
	if c == nil {
		c = s.webhooks.add(delivery{strings.Clone(event), strings.Clone(outcome)}, maxDeliveries, newCounter[delivery])
	}
	if c != nil {
		c.Add(1)
	}
}

func newCounter[K comparable](K) *counter { return new(counter) }

// foreseeDeliveries makes the known counters at 0: Prometheus sees a first event as an increase only after a 0.
func (s *Set) foreseeDeliveries() {
	for _, event := range []string{"start", "output", "logs", "completed"} {
		for _, outcome := range []string{"delivered", "failed", "dropped"} {
			s.webhooks.add(delivery{event, outcome}, maxDeliveries, newCounter[delivery])
		}
	}
}

func (s *Set) gatherWebhooks(g *gathered) {
	all := s.webhooks.snapshot()
	g.family("pinion_webhook_deliveries_total", Counter, "Deliveries to webhooks that have ended, retries not counted.")
	for _, k := range slices.SortedFunc(maps.Keys(all), func(a, b delivery) int {
		return cmp.Or(cmp.Compare(a.event, b.event), cmp.Compare(a.outcome, b.outcome))
	}) {
		g.value(float64(all[k].Load()), "event", k.event, "outcome", k.outcome)
	}
}

// transfer has the labels of a file's transfer.
type transfer struct{ direction, outcome string }

// transfers are the transfers with one combination of labels.
type transfers struct{ files, bytes counter }

// Transfer records the outcome of a download or upload, and how many bytes were transferred.
func (s *Set) Transfer(direction, outcome string, bytes int64) {
	t := s.files.snapshot()[transfer{direction, outcome}]
	if t == nil {
		t = s.files.add(transfer{strings.Clone(direction), strings.Clone(outcome)}, maxTransfers, newTransfers)
	}
	if t != nil {
		t.files.Add(1)
		t.bytes.Add(uint64(max(0, bytes)))
	}
}

func newTransfers(transfer) *transfers { return new(transfers) }

func (s *Set) foreseeTransfers() {
	for _, direction := range []string{"download", "upload"} {
		for _, outcome := range []string{"succeeded", "failed", "canceled"} {
			s.files.add(transfer{direction, outcome}, maxTransfers, newTransfers)
		}
	}
}

func (s *Set) gatherTransfers(g *gathered) {
	all := s.files.snapshot()
	keys := slices.SortedFunc(maps.Keys(all), func(a, b transfer) int {
		return cmp.Or(cmp.Compare(a.direction, b.direction), cmp.Compare(a.outcome, b.outcome))
	})
	g.family("pinion_file_transfers_total", Counter, "Files whose download or upload has ended.")
	for _, k := range keys {
		g.value(float64(all[k].files.Load()), "direction", k.direction, "outcome", k.outcome)
	}
	g.family("pinion_file_transfer_bytes_total", Counter, "Bytes of files that were downloaded or uploaded.")
	for _, k := range keys {
		g.value(float64(all[k].bytes.Load()), "direction", k.direction, "outcome", k.outcome)
	}
}
