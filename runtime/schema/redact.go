package schema

import (
	"slices"

	"pinion/runtime/rawjson"
)

// Redact replaces every secret in input by "**********"; without secrets it returns input itself. In doubt it redacts.
func (s *Schema) Redact(input []byte) []byte {
	if !s.secrets {
		return input
	}
	var hide []span
	for r := rawjson.Object(input); ; {
		key, value, ok := r.Next()
		if !ok {
			break
		}
		if i := s.find(key, 0); i >= 0 {
			hide = s.fields[i].node.secrets(hide, value, r.Offset())
		}
	}
	if len(hide) == 0 {
		return input
	}
	out := make([]byte, 0, len(input)+len(hide)*len(secretShown))
	from := 0
	for _, at := range hide {
		out = append(out, input[from:at.start]...)
		out = append(out, secretShown...)
		from = at.end
	}
	return append(out, input[from:]...)
}

// secrets appends the offsets of the secrets in raw, which is at offset base, in order. null is not a secret.
func (n *node) secrets(hide []span, raw []byte, base int) []span {
	kind := rawjson.KindOf(raw)
	if !n.hasSecret || kind == rawjson.KindNull {
		return hide
	}
	whole := append(hide, span{base, base + len(raw)})
	if n.secret {
		return whole
	}
	switch part, where := n.secretPart(); where {
	case secretHere: // one schema of the same value says which part is secret
		return part.secrets(hide, raw, base)
	case secretMixed: // several schemas may say so: the whole value is secret
		return whole
	}
	switch kind {
	case rawjson.KindArray:
		if n.items == nil {
			return whole
		}
		for r := rawjson.Array(raw); ; {
			item, ok := r.Next()
			if !ok {
				return hide
			}
			hide = n.items.secrets(hide, item, base+r.Offset())
		}
	case rawjson.KindObject:
		for r := rawjson.Object(raw); ; {
			key, value, ok := r.Next()
			if !ok {
				return hide
			}
			i, part := n.find(key)
			if i < 0 {
				part = n.additional
			}
			if part != nil {
				hide = part.secrets(hide, value, base+r.Offset())
			}
		}
	}
	return whole
}

// Places of the secrets of a node: below it, in one schema of the same value, or in several schemas.
const (
	secretBelow = iota
	secretHere
	secretMixed
)

// secretPart returns where the secrets of n are, and the schema for secretHere.
func (n *node) secretPart() (part *node, where int) {
	if n.rare != nil && slices.ContainsFunc(n.rare.below(), hasSecret) || slices.ContainsFunc(n.choices(), hasSecret) {
		return nil, secretMixed
	}
	plain := *n
	plain.allOf = nil
	below := slices.ContainsFunc(plain.children(), hasSecret)
	for _, p := range n.allOf {
		switch {
		case !p.hasSecret:
		case below || part != nil:
			return nil, secretMixed
		default:
			part, where = p, secretHere
		}
	}
	return part, where
}

func hasSecret(n *node) bool { return n.hasSecret }
