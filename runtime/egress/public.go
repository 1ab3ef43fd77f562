package egress

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"syscall"
)

// ErrPrivate means that the address is not public. It does not show the address, because a client could learn how
// internal names resolve.
var ErrPrivate = errors.New("the address is not public")

// Deny refuses all but public addresses. It is a net.Dialer.Control. It checks the resolved address of the connection,
// so a second DNS answer cannot bypass it. Use it without proxies, which resolve names themselves.
func Deny(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !Public(at.Addr()) {
		return ErrPrivate
	}
	return nil
}

// Reason returns ErrPrivate for a connection that Deny refused, and removes the DNS server's address from its errors.
// It returns any other error unchanged.
func Reason(err error) error {
	var name *net.DNSError
	switch {
	case errors.Is(err, ErrPrivate):
		return ErrPrivate
	case errors.As(err, &name):
		return &net.DNSError{
			Err: name.Err, Name: name.Name, IsTimeout: name.IsTimeout, IsTemporary: name.IsTemporary,
			IsNotFound: name.IsNotFound,
		}
	}
	return err
}

// special returns the networks that IANA's special-purpose registries exclude from the public Internet and that
// net/netip does not test, and those that embed an IPv4 address.
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

// Public reports whether a is an address of the public Internet.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsGlobalUnicast() && !a.IsPrivate() &&
		!slices.ContainsFunc(special(), func(p netip.Prefix) bool { return p.Contains(a) })
}
