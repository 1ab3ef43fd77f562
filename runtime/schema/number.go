package schema

import "cmp"

// decimal is a JSON number of any size that compares exactly: its value is 0.d1d2d3… times ten to the power exp. It
// does not copy the digits.
type decimal struct {
	digits   []byte // from the first nonzero digit to the last; may have the point; empty means zero
	exp      int64
	negative bool
}

// farExponent is the limit of exponents. Numbers beyond it compare by their digits, which is wrong only for numbers
// that are too long to write out.
const farExponent = 1 << 50

// parseDecimal reads raw, a number of a checked document.
func parseDecimal(raw []byte) decimal {
	var d decimal
	i := 0
	if i < len(raw) && raw[i] == '-' {
		d.negative = true
		i++
	}
	first, last, point := -1, -1, -1 // offsets of significant digits and of the point
	end := len(raw)
	for ; i < len(raw); i++ {
		c := raw[i]
		if c == '.' {
			point = i
			continue
		}
		if c == 'e' || c == 'E' {
			end = i
			break
		}
		if c != '0' {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return decimal{} // zero, of either sign
	}
	if point < 0 {
		point = end
	}
	if first < point {
		d.exp = int64(point - first)
	} else {
		d.exp = int64(point + 1 - first)
	}
	d.exp += parseExponent(raw[end:])
	d.digits = raw[first : last+1]
	return d
}

// parseExponent reads "e+12"; "" is 0.
func parseExponent(raw []byte) int64 {
	if len(raw) == 0 {
		return 0
	}
	raw = raw[1:]
	negative := false
	if len(raw) > 0 && (raw[0] == '+' || raw[0] == '-') {
		negative = raw[0] == '-'
		raw = raw[1:]
	}
	var e int64
	for _, c := range raw {
		if e = e*10 + int64(c-'0'); e > farExponent {
			e = farExponent
			break
		}
	}
	if negative {
		return -e
	}
	return e
}

// isInteger reports whether the value has no fraction, like 1.0 and 1e2.
func (d decimal) isInteger() bool {
	n := int64(len(d.digits))
	for _, c := range d.digits {
		if c == '.' {
			n--
			break
		}
	}
	return n == 0 || n <= d.exp
}

// compare returns -1, 0 or 1 if d is less than, equal to or greater than o.
func (d decimal) compare(o decimal) int {
	if s, t := d.sign(), o.sign(); s != t || s == 0 {
		return cmp.Compare(s, t)
	}
	c := d.compareSize(o)
	if d.negative {
		return -c
	}
	return c
}

func (d decimal) sign() int {
	switch {
	case len(d.digits) == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// compareSize compares the absolute values of two nonzero numbers.
func (d decimal) compareSize(o decimal) int {
	if d.exp != o.exp {
		return cmp.Compare(d.exp, o.exp)
	}
	a, b := d.digits, o.digits
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == '.':
			a = a[1:]
		case b[0] == '.':
			b = b[1:]
		case a[0] != b[0]:
			return cmp.Compare(a[0], b[0])
		default:
			a, b = a[1:], b[1:]
		}
	}
	return cmp.Compare(len(a), len(b)) // neither ends with 0 or the point, so the longer one is larger
}

// maxDigits and maxExponent bound the numbers for arithmetic (multipleOf): big.Rat would store every digit of
// 1e999999999.
const (
	maxDigits   = 20_000
	maxExponent = 20_000
)

// huge reports whether raw exceeds those bounds.
func huge(raw []byte) bool {
	if len(raw) > maxDigits {
		return true
	}
	d := parseDecimal(raw)
	return d.exp > maxExponent || d.exp < -maxExponent
}
