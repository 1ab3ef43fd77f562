package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Key signs deliveries as Standard Webhooks says, which Replicate's clients verify: HMAC-SHA256 of id, time and body.
// The zero Key signs nothing.
type Key struct{ secret []byte }

// keyPrefix begins the text of a key.
const keyPrefix = "whsec_"

// NewKey returns a random key.
func NewKey() Key {
	secret := make([]byte, 24)
	_, _ = rand.Read(secret) // it never fails
	return Key{secret}
}

// errKey means that the text of a key is invalid.
var errKey = errors.New("must be whsec_ and the base64 of at least 16 bytes")

// ParseKey reads a key's text: "whsec_" and base64.
func ParseKey(text string) (Key, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(text), keyPrefix)
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(secret) < 16 {
		return Key{}, errKey
	}
	return Key{secret}, nil
}

// IsZero reports whether the key signs nothing.
func (k Key) IsZero() bool { return len(k.secret) == 0 }

// String returns the key's text, which is secret.
func (k Key) String() string { return keyPrefix + base64.StdEncoding.EncodeToString(k.secret) }

// sign adds the headers that prove who sent a body.
func (k Key) sign(header http.Header, id string, now time.Time, body [3][]byte) {
	at := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, k.secret)
	mac.Write([]byte(id + "." + at + "."))
	for _, part := range body {
		mac.Write(part)
	}
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", at)
	header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
