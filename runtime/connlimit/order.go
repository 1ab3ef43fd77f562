package connlimit

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

// NewGrace is how long after a connection was opened or answered it does not count as idle.
const NewGrace = 250 * time.Millisecond

// class orders connections by which are closed first.
type class int

const (
	waiting   class = iota // idle for a while
	receiving              // a part of a request has come
	blocked                // its answer is not read
	young                  // just opened, answered or begun to receive: the client may be about to send
)

func (i Idle) class(now time.Time) class {
	age := now.Sub(i.Since)
	switch {
	case i.Blocked:
		return blocked
	case age < NewGrace && (age >= 0 || !i.Receiving): // Since of a client that has sent much lies in the future
		return young
	case i.Receiving:
		return receiving
	}
	return waiting
}

// inOrder sorts connections into the order in which they are closed: those that wait, then the others. In each class
// the peer with the most connections loses its own first, so a client that keeps opening connections displaces only its
// own. A young connection that is the only idle one of its peer is left out: its client has had no time to send.
func inOrder(idle []Idle, now time.Time) []Idle {
	of := map[netip.Prefix]int{}
	for _, conn := range idle {
		of[conn.Peer]++
	}
	idle = slices.DeleteFunc(idle, func(i Idle) bool { return of[i.Peer] == 1 && i.class(now) == young })
	slices.SortFunc(idle, func(a, b Idle) int {
		return cmp.Or(cmp.Compare(a.class(now), b.class(now)), a.Since.Compare(b.Since))
	})
	if first := slices.IndexFunc(idle, func(i Idle) bool { return i.class(now) != waiting }); first >= 0 {
		byPeer(idle[:first])
		byPeer(idle[first:])
	} else {
		byPeer(idle)
	}
	return idle
}

// byPeer sorts by how many connections a peer has left when each is closed, and keeps the order of each peer's own.
func byPeer(idle []Idle) {
	type ranked struct {
		Idle
		left int
	}
	order, of := make([]ranked, len(idle)), map[netip.Prefix]int{}
	for i := len(idle) - 1; i >= 0; i-- {
		of[idle[i].Peer]++
		order[i] = ranked{idle[i], of[idle[i].Peer]}
	}
	slices.SortStableFunc(order, func(a, b ranked) int { return cmp.Compare(b.left, a.left) })
	for i, conn := range order {
		idle[i] = conn.Idle
	}
}
