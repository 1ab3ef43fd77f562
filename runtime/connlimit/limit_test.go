package connlimit

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"pinion/tests/assert"
)

// client is a connection of a test.
type client struct {
	Place
	since  time.Time
	busy   bool
	closed bool

	receiving bool
	blocked   bool
	peer      netip.Prefix
	lingers   bool // it is known for a while after it was closed
	closes    bool // it is still open then
}

func (c *client) CloseIdle() bool {
	if c.busy {
		return false
	}
	c.closed = true
	if c.closes {
		c.Closing()
		return true
	}
	return c.Leave()
}

// clients are a source.
type clients []*client

func (cs *clients) idle() (found []Idle) {
	for _, c := range *cs {
		if !c.busy && (!c.closed || c.lingers) {
			found = append(found, Idle{c.receiving, c.blocked, c.since, c.peer, c})
		}
	}
	return found
}

func (cs *clients) enter(l *Limit, busy bool) bool {
	c := &client{since: time.Now().Add(time.Duration(len(*cs))*time.Second - time.Hour), busy: busy}
	if !l.Enter(&c.Place) {
		return false
	}
	*cs = append(*cs, c)
	return true
}

func TestLimit_OldestIdleIsClosed(t *testing.T) {
	l, cs := New(4), clients{}
	l.Add(cs.idle)
	for i := range 4 {
		assert.TrueNow(t, cs.enter(l, i == 0), "connection %d is refused, want it taken", i)
	}
	assert.TrueNow(t, cs.enter(l, false), "one more is refused, want the oldest idle one closed")
	closed := slices.IndexFunc(cs, func(c *client) bool { return c.closed })
	if s := l.Stats(); closed != 1 || s != (Stats{Open: 4, Limit: 4, Evicted: 1}) {
		t.Errorf("got connection %d closed and %+v, want the first idle one, and 4 open", closed, s)
	}
}

// TestLimit_ReceivingOnesAreClosedLast: while another is idle, one that has sent a part of a request stays.
func TestLimit_ReceivingOnesAreClosedLast(t *testing.T) {
	l, cs := New(3), clients{}
	l.Add(cs.idle)
	for range 3 {
		cs.enter(l, false)
	}
	cs[0].receiving, cs[2].receiving = true, true
	for i, want := range []int{1, 0, 2} {
		assert.True(t, cs.enter(l, true) && cs[want].closed, "connection %d: client %d is open, want it closed", i, want)
	}
	assert.False(t, cs.enter(l, true), "one more is taken, want it refused: the others are busy")
}

// TestLimit_ThoseThatDoNotReadMakeRoom for one that has just connected, after those that are idle or receive.
func TestLimit_ThoseThatDoNotReadMakeRoom(t *testing.T) {
	l, cs := New(4), clients{}
	l.Add(cs.idle)
	for range 4 {
		cs.enter(l, false)
	}
	cs[0].blocked, cs[1].receiving, cs[3].since = true, true, time.Now()
	for i, want := range []int{2, 1, 0} {
		cs[3].since = time.Now() // it stays young
		assert.True(t, cs.enter(l, true) && cs[want].closed, "connection %d: client %d is open, want it closed", i, want)
	}
	assert.False(t, cs[3].closed, "the one that has just connected is closed, want it open")
}

// TestLimit_YoungOnesAreClosedLast: a client that has just connected has had no time to send, but those that send half
// a request have had it.
func TestLimit_YoungOnesAreClosedLast(t *testing.T) {
	l, cs := New(4), clients{}
	l.Add(cs.idle)
	for range 4 {
		cs.enter(l, false)
	}
	cs[0].since, cs[1].receiving, cs[2].receiving = time.Now(), true, true
	cs[2].since = time.Now().Add(time.Hour) // it has sent much
	for _, want := range []int{3, 1, 2} {
		assert.True(t, cs.enter(l, true) && cs[want].closed, "client %d is open, want it closed", want)
	}
	assert.True(t, !cs.enter(l, true) && !cs[0].closed,
		"got a connection closed that has just been opened, or one taken; want it kept: it is the only idle one")
	cs.enter(l, false)
	cs[0].since = time.Now().Add(-NewGrace)
	l.searched = time.Time{} // as if it were long ago
	assert.True(t, cs.enter(l, true) && cs[0].closed, "client 0 is open, want it closed: it has had its time")
}

// TestLimit_ClosedOnesMakeRoomOnce, though their server knows them until it has done with them.
func TestLimit_ClosedOnesMakeRoomOnce(t *testing.T) {
	l, cs := New(4), clients{}
	l.Add(cs.idle)
	for range 4 {
		cs.enter(l, false)
		cs[len(cs)-1].lingers = true
	}
	for i := range 4 {
		assert.True(t, cs.enter(l, true) && cs[i].closed, "connection %d: got client %d open, want it closed", i, i)
	}
}

// TestLimit_PeerWithTheMostLosesItsOwn, young or old.
func TestLimit_PeerWithTheMostLosesItsOwn(t *testing.T) {
	attacker, other := netip.MustParsePrefix("2001:db8::/64"), netip.MustParsePrefix("192.0.2.1/32")
	for _, c := range []struct {
		name string
		set  func(*client)
	}{
		{"waiting", func(*client) {}},
		{"receiving", func(c *client) { c.receiving = true }},
		{"not reading", func(c *client) { c.blocked = true }},
		{"young", func(c *client) { c.since = time.Now() }},
	} {
		l, cs := New(8), clients{}
		l.Add(cs.idle)
		for i := range 8 {
			cs.enter(l, false)
			if cs[i].peer = attacker; i < 2 {
				cs[i].peer = other
			}
			c.set(cs[i])
		}
		for range 4 {
			cs.enter(l, true)
		}
		assert.True(t, !cs[0].closed && !cs[1].closed, "%s: got clients of the peer with two closed, want those of the other", c.name)
		cs.enter(l, true)
		assert.True(t, cs[0].closed, "%s: the oldest is open, want it closed: both peers had two", c.name)
	}
}

func TestLimit_PeerOf(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1/32", "[::ffff:192.0.2.1]:80": "192.0.2.1/32", "[2001:db8::7:1%eth0]:80": "2001:db8::/64",
	} {
		assert.Equal(t, address, PeerOf(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))).String(), want)
	}
	got := PeerOf(&net.UnixAddr{Name: "/x"})
	assert.False(t, got.IsValid(), "got %v for a Unix socket, want none", got)
}

func TestLimit_BusyOnesStay(t *testing.T) {
	l, cs := New(2), clients{}
	l.Add(cs.idle)
	cs.enter(l, true)
	cs.enter(l, true)
	assert.False(t, cs.enter(l, true), "a third one is taken, want it refused: the others are busy")
	cs[0].Leave()
	cs[0].Leave()
	assert.True(t, cs.enter(l, true) && !cs.enter(l, true), "want one place free after one has left twice")
	assert.Equal(t, "refused", l.Stats().Refused, 2)
}

func TestLimit_PartIsServedAboveWhole(t *testing.T) {
	l, main, probes := New(2), clients{}, clients{}
	l.Add(main.idle)
	part := l.Part(1)
	part.Add(probes.idle)
	main.enter(l, true)
	main.enter(l, true)
	if first, second := probes.enter(part, false), probes.enter(part, false); !first || !second {
		t.Errorf("got a probe admitted %t and %t while clients use the whole limit, want both", first, second)
	}
	if got := l.Stats().Open; got != 3 || !probes[0].closed {
		t.Errorf("got %d open and %v, want 3, with the part's first one closed", got, probes[0].closed)
	}
	main[0].busy = false
	assert.True(t, main.enter(l, false) && main[0].closed, "a client is refused, want an idle one closed for it")
	main[2].Leave()
	probes[1].Leave()
	if got, total := part.Stats().Open, l.Stats().Open; got != 0 || total != 1 {
		t.Errorf("got %d open in the part and %d in all, want 0 and 1", got, total)
	}
}

func TestLimit_NeverAbove(t *testing.T) {
	l := New(8)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 500 {
				var p Place
				if l.Enter(&p) {
					open := l.Stats().Open
					assert.True(t, open <= 8, "got %d open, want at most 8", open)
					p.Leave()
				}
			}
		})
	}
	group.Wait()
	assert.Equal(t, "open at the end", l.Stats().Open, 0)
}
