package usertext

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// ParseOrigin reads an origin in the form in which browsers send it, or a pattern of origins: https://*.example.com for
// all names below, http://localhost:* for all ports, * for all origins. What no browser could send is an error.
func ParseOrigin(v string) (string, error) {
	text := strings.TrimSpace(v)
	if text == "*" || text == "null" {
		return text, nil
	}
	scheme, rest, is := strings.Cut(text, "://")
	if !is {
		return "", fmt.Errorf("%q has no scheme: write it as https://%s", v, strings.TrimLeft(text, "/"))
	}
	scheme = strings.ToLower(scheme)
	host, anyPort := strings.CutSuffix(strings.TrimSuffix(rest, "/"), ":*")
	name, below := strings.CutPrefix(host, "*.")
	u, err := url.Parse(scheme + "://" + name)
	switch {
	case err != nil || u.Hostname() == "":
		return "", fmt.Errorf("invalid origin %q: must be like https://example.com", v)
	case u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(name, "?#"):
		return "", fmt.Errorf("%q: an origin is a scheme, a name and a port: write it as %s://%s", v, scheme, u.Host)
	case strings.ContainsAny(scheme+name, "* "):
		return "", fmt.Errorf("%q: * stands for all names below another one, as https://*.example.com, or for all ports, as http://localhost:*", v)
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r > '~' }):
		return "", fmt.Errorf("%q: browsers send a name in ASCII: write it as xn--…", v)
	}
	host, err = originHost(u)
	if err != nil {
		return "", fmt.Errorf("%q: %w", v, err)
	}
	if below {
		host = "*." + host
	}
	if anyPort {
		host += ":*"
	}
	return scheme + "://" + host, nil
}

// originHost returns the host and the port of an origin, without the port that a browser leaves out.
func originHost(u *url.URL) (string, error) {
	name, port := strings.ToLower(u.Hostname()), u.Port()
	if address, err := netip.ParseAddr(name); err == nil {
		if name = address.String(); address.Is6() {
			name = "[" + name + "]"
		}
	}
	if port == "" {
		return name, nil
	}
	number, err := strconv.Atoi(port)
	switch {
	case err != nil || number < 1 || number > 65535:
		return "", fmt.Errorf("invalid port %s: must be 1 to 65535", port)
	case number == map[string]int{"http": 80, "https": 443}[u.Scheme]:
		return name, nil
	}
	return name + ":" + strconv.Itoa(number), nil
}
