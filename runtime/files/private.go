package files

import (
	"net/netip"
	"slices"
	"syscall"
)

// deniedError is ErrPrivate with the address that was refused.
type deniedError struct{ address string }

func (e *deniedError) Error() string { return ErrPrivate.Error() + " (" + e.address + ")" }
func (e *deniedError) Unwrap() error { return ErrPrivate }

// denyPrivate is a net.Dialer.Control: it sees the very address that is connected to, after names
// were resolved, so no second answer of a name server gets around it.
func denyPrivate(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !public(at.Addr()) {
		return &deniedError{address}
	}
	return nil
}

// special are the networks that IANA's special-purpose registries keep from the public Internet
// and net/netip has no question for, and those that carry an IPv4 address inside.
func special() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),       // this network
		netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT
		netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
		netip.MustParsePrefix("192.0.2.0/24"),    // documentation
		netip.MustParsePrefix("192.88.99.0/24"),  // 6to4 relays
		netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
		netip.MustParsePrefix("198.51.100.0/24"), // documentation
		netip.MustParsePrefix("203.0.113.0/24"),  // documentation
		netip.MustParsePrefix("240.0.0.0/4"),     // reserved, broadcast
		netip.MustParsePrefix("::/96"),           // IPv4-compatible
		netip.MustParsePrefix("64:ff9b::/96"),    // NAT64
		netip.MustParsePrefix("64:ff9b:1::/48"),  // NAT64, local
		netip.MustParsePrefix("100::/64"),        // discard
		netip.MustParsePrefix("2001::/23"),       // protocol assignments, Teredo
		netip.MustParsePrefix("2001:db8::/32"),   // documentation
		netip.MustParsePrefix("2002::/16"),       // 6to4
		netip.MustParsePrefix("3fff::/20"),       // documentation
		netip.MustParsePrefix("5f00::/16"),       // segment routing
		netip.MustParsePrefix("fec0::/10"),       // site-local
	}
}

// public tells whether a is an address of the public Internet.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsGlobalUnicast() && !a.IsPrivate() &&
		!slices.ContainsFunc(special(), func(p netip.Prefix) bool { return p.Contains(a) })
}
