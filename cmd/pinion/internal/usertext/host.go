package usertext

import (
	"fmt"
	"net/netip"
	"strings"
)

// ParseHost reads an address to listen on: a name or an IP address, an IPv6 address also in brackets, or unix:/path.
func ParseHost(v string) (string, error) {
	text := strings.TrimSpace(v)
	if path, is := strings.CutPrefix(text, "unix:"); is {
		if path == "" {
			return "", fmt.Errorf("%q has no path: write it as unix:/path", v)
		}
		return text, nil
	}
	if inner, is := strings.CutPrefix(text, "["); is && strings.HasSuffix(inner, "]") {
		inner = strings.TrimSuffix(inner, "]")
		if address, err := netip.ParseAddr(inner); err != nil || !address.Is6() {
			return "", fmt.Errorf("invalid IPv6 address %q: write it as [::1]", v)
		}
		return inner, nil
	}
	if text == "" {
		return "", nil
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return text, nil
	}
	switch {
	case text == "*":
		return "", fmt.Errorf("%q: for all addresses write 0.0.0.0, or :: for IPv6 too", v)
	case strings.Contains(text, "://"):
		return "", fmt.Errorf("%q is a URL: write the address alone, and the port by its own flag", v)
	case strings.Contains(text, ":"):
		return "", fmt.Errorf("invalid address %q: must have no port; the port has its own flag", v)
	case strings.ContainsAny(text, "/ ,[]"):
		return "", fmt.Errorf("invalid address %q: must be one IP address or name, or unix:/path", v)
	}
	return text, nil
}
