package process

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"

	"pinion/tests/assert"
)

// TestPortOwner_OtherAddress: a socket at one address has the port of that address, and of all, not of others.
func TestPortOwner_OtherAddress(t *testing.T) {
	free, err := net.Listen("tcp", ":0") // a port that other processes have at no address
	assert.NoError(t, err)
	port := netip.MustParseAddrPort(free.Addr().String()).Port()
	free.Close()
	ln := assert.Must(net.Listen("tcp", fmt.Sprintf("127.7.7.7:%d", port)))(t)
	defer ln.Close()
	for _, at := range []netip.Addr{
		netip.MustParseAddr("127.7.7.7"), netip.MustParseAddr("::ffff:127.7.7.7"), netip.IPv4Unspecified(),
		netip.IPv6Unspecified(),
		{},
	} {
		owner, ok := PortOwner(netip.AddrPortFrom(at, port))
		assert.True(t, ok && owner.PID == os.Getpid(), "%s: got %+v, %t, want this process", at, owner, ok)
	}
	for _, at := range []netip.Addr{netip.MustParseAddr("127.7.7.8"), netip.IPv6Loopback()} {
		owner, ok := PortOwner(netip.AddrPortFrom(at, port))
		assert.False(t, ok && owner.PID == os.Getpid(), "%s: got this process, want none or another one", at)
	}
}

// TestPortOwner_Overlap: which sockets keep others from an address.
func TestPortOwner_Overlap(t *testing.T) {
	for _, c := range []struct {
		bound, wanted string
		want          bool
	}{
		{"00000000:1388", "127.0.0.1", true},
		{"00000000:1388", "::1", false},
		{"00000000000000000000000000000000:1388", "127.0.0.1", true},
		{"00000000000000000000000000000000:1388", "::1", true},
	} {
		bound, ok := parseSocketAddress(c.bound)
		if got := overlap(bound.Addr(), netip.MustParseAddr(c.wanted)); !ok || bound.Port() != 5000 || got != c.want {
			t.Errorf("%s and %s: got %s, %t, want port 5000 and %t", c.bound, c.wanted, bound, got, c.want)
		}
	}
}
