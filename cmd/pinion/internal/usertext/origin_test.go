package usertext

import (
	"testing"

	"pinion/tests/assert"
)

func TestOrigin_IsAsBrowsersSendIt(t *testing.T) {
	for text, want := range map[string]string{
		"*": "*", "null": "null", "https://example.com": "https://example.com",
		" https://example.com/ ": "https://example.com",
		"HTTPS://Example.COM":    "https://example.com", "https://example.com:443": "https://example.com",
		"http://example.com:80":  "http://example.com",
		"http://example.com:443": "http://example.com:443", "https://example.com:8443/": "https://example.com:8443",
		"https://example.com:": "https://example.com",
		"http://[::1]:3000":    "http://[::1]:3000", "http://[0:0:0:0:0:0:0:1]": "http://[::1]",
		"http://127.0.0.1:3000": "http://127.0.0.1:3000",
		"https://*.Example.com": "https://*.example.com", "https://*.example.com:443": "https://*.example.com",
		"https://*.example.com:*": "https://*.example.com:*",
		"http://localhost:*":      "http://localhost:*", "http://localhost:*/": "http://localhost:*",
		"chrome-extension://AbC": "chrome-extension://abc",
		"tauri://localhost":      "tauri://localhost", "http://localhost:080": "http://localhost",
	} {
		got, err := ParseOrigin(text)
		assert.True(t, err == nil && got == want, "%q: got %q, %v, want %q", text, got, err, want)
	}
	for _, text := range []string{
		"", "example.com", "localhost:3000", "//example.com", "https://", "https:///path", "https://example.com/app",
		"https://example.com?x", "https://example.com#x",
		"https://me@example.com", "https://*", "*://example.com", "https://ex*mple.com", "https://example.*",
		"https://a.*.example.com", "https://*example.com",
		"https://a.example,https://b.example", "https://münchen.example", "https://example.com:99999",
		"https://example.com:0", "https://a b", "https://*.", "file://",
	} {
		got, err := ParseOrigin(text)
		assert.True(t, err != nil, "%q: got %q, want an error", text, got)
	}
}

func TestHost_EachFormOfAddress(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "0.0.0.0": "0.0.0.0", "::": "::", "[::]": "::", "[::1]": "::1", "::1": "::1",
		"[fe80::1%eth0]": "fe80::1%eth0", "[::ffff:127.0.0.1]": "::ffff:127.0.0.1",
		"localhost": "localhost", " gpu.example.com ": "gpu.example.com", "unix:/run/p.sock": "unix:/run/p.sock",
	} {
		got, err := ParseHost(text)
		assert.True(t, err == nil && got == want, "%q: got %q, %v, want %q", text, got, err, want)
	}
	for _, text := range []string{
		"[", "[]", "[127.0.0.1]", "[::1]:5000", "localhost:5000", ":::", "http://localhost", "*",
		"unix:", "a b", "a,b", "/run/p.sock",
	} {
		got, err := ParseHost(text)
		assert.True(t, err != nil, "%q: got %q, want an error", text, got)
	}
}
