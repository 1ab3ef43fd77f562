package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestPublic_Networks: one of each network.
func TestPublic_Networks(t *testing.T) {
	for text, want := range map[string]bool{
		"1.1.1.1": true, "8.8.8.8": true, "2606:4700::1111": true, "::ffff:1.1.1.1": true, "172.32.0.1": true,
		"100.128.0.1": true,
		"127.0.0.1":   false, "127.9.9.9": false, "::1": false, "::ffff:127.0.0.1": false, "0.0.0.0": false, "0.1.2.3": false,
		"::":       false,
		"10.0.0.1": false, "172.16.0.1": false, "192.168.1.1": false, "::ffff:10.0.0.1": false, "fd00::1": false,
		"fc00::1":         false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false, "100.64.0.1": false,
		"192.0.0.170": false,
		"198.18.0.1":  false, "224.0.0.1": false, "ff02::1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::7f00:1":        false,
		"64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2001::1": false, "2001:db8::1": false, "203.0.113.1": false,
	} {
		assert.Equal(t, "Public("+text, Public(netip.MustParseAddr(text)), want)
	}
	assert.ErrorIs(t, "no address", Deny("tcp", "not an address", nil), ErrPrivate)
}

// TestPublic_Reason: neither the address that was refused nor that of the name server is shown.
func TestPublic_Reason(t *testing.T) {
	d := net.Dialer{Control: Deny}
	_, err := d.DialContext(context.Background(), "tcp", "127.0.0.1:1")
	if got := Reason(err); !errors.Is(got, ErrPrivate) || strings.Contains(got.Error(), "127") {
		t.Errorf(`got %v of %v, want error ErrPrivate and a text without "127"`, got, err)
	}
	name := &net.DNSError{Err: "no such host", Name: "x.test", Server: "10.0.0.2:53", IsNotFound: true}
	var found *net.DNSError
	got := Reason(&net.OpError{Op: "dial", Net: "tcp", Err: name})
	assert.True(t, !strings.Contains(got.Error(), "10.0.0.2") && errors.As(got, &found) && found.IsNotFound,
		"got %v, want a name that is not found, without the server", got)
	other := errors.New("other")
	assert.ErrorIs(t, "Reason(other)", Reason(other), other)
}
