package state

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Keys seal what clients sent and get, so that NATS, its disks and its backups do not have it in the clear: bodies,
// prediction objects, webhooks and the URLs of these. Ids, times, sizes and states stay readable. A nil *Keys seals
// nothing.
type Keys struct{ sealers []cipher.AEAD }

// keyBytes is the size of an AES-256 key.
const keyBytes = 32

// ReadKeys reads keys in base64, one a line: the first seals, all open.
func ReadKeys(path string) (*Keys, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	k := &Keys{}
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(key) != keyBytes { // the error does not show the line: it may be nearly a key
			return nil, fmt.Errorf("line %d of %s: invalid key: must be 32 bytes in base64, as openssl rand -base64 32 prints them",
				i+1, path)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		sealer, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		k.sealers = append(k.sealers, sealer)
	}
	if len(k.sealers) == 0 {
		return nil, fmt.Errorf("%s has no key", path)
	}
	return k, nil
}

// ErrSealed means that the key is not among this member's.
var ErrSealed = errors.New("encrypted with a key that this server does not have: give all servers the same --jobs-key")

// sealedPrefix begins what is sealed; a nonce and the sealed bytes follow.
var sealedPrefix = []byte("pinion-sealed-1:")

// Seal seals data. The kind of the data, what, goes into the seal, so that one kind cannot be put in the place of
// another.
func (k *Keys) Seal(what string, data []byte) []byte {
	if k == nil {
		return data
	}
	sealer := k.sealers[0]
	nonce := make([]byte, sealer.NonceSize(), len(sealedPrefix)+sealer.NonceSize()+len(data)+sealer.Overhead())
	_, _ = rand.Read(nonce) // never fails
	out := append(bytes.Clone(sealedPrefix), nonce...)
	return sealer.Seal(out, nonce, data, []byte(what))
}

// Open is the reverse of seal. What is not sealed is returned as it is: it was stored before there were keys.
func (k *Keys) Open(what string, data []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(data, sealedPrefix)
	if !ok {
		return data, nil
	}
	if k != nil {
		for _, sealer := range k.sealers {
			if len(rest) < sealer.NonceSize() {
				break
			}
			if out, err := sealer.Open(nil, rest[:sealer.NonceSize()], rest[sealer.NonceSize():], []byte(what)); err == nil {
				return out, nil
			}
		}
	}
	return nil, ErrSealed
}

// The kinds of sealed data.
const (
	SealBody   = "body"
	sealState  = "state"
	sealResult = "result"
	SealHook   = "webhook"
	sealURL    = "url"
)

// secret is what a sealed state hides.
type secret struct {
	Prediction json.RawMessage `json:"prediction"`
	Hook       *Hook           `json:"hook,omitempty"`
	Digest     []byte          `json:"digest,omitempty"`
}

// sealedObject stands for the prediction object of a sealed state.
type sealedObject struct {
	Sealed []byte `json:"sealed"`
}

func (k *Keys) sealState(s *State) (*State, error) {
	if k == nil {
		return s, nil
	}
	text, err := json.Marshal(secret{s.Prediction, s.Hook, s.Digest})
	if err != nil {
		return nil, err
	}
	out := *s
	out.Hook, out.Digest = nil, nil
	out.Prediction, err = json.Marshal(sealedObject{k.Seal(sealState, text)})
	return &out, err
}

func (k *Keys) openState(s *State) error {
	var o sealedObject
	if !bytes.HasPrefix(s.Prediction, []byte(`{"sealed":`)) || json.Unmarshal(s.Prediction, &o) != nil {
		return nil
	}
	text, err := k.Open(sealState, o.Sealed)
	if err != nil {
		return err
	}
	var in secret
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	s.Prediction, s.Hook, s.Digest = in.Prediction, in.Hook, in.Digest
	return nil
}

// sealText and openText are for headers.
func (k *Keys) sealText(text string) string {
	if k == nil {
		return text
	}
	return string(sealedPrefix) + base64.StdEncoding.EncodeToString(k.Seal(sealURL, []byte(text)))
}

func (k *Keys) openText(text string) (string, error) {
	rest, ok := strings.CutPrefix(text, string(sealedPrefix))
	if !ok {
		return text, nil
	}
	data, err := base64.StdEncoding.DecodeString(rest)
	if err == nil {
		data, err = k.Open(sealURL, data)
	}
	return string(data), err
}
