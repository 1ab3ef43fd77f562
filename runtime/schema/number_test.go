package schema

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"pinion/tests/assert"
)

func TestNumber_Decimal(t *testing.T) {
	// In ascending order; equal ones in one entry.
	groups := [][]string{
		{"-1e999999999999999"},
		{"-1e400"},
		{"-123456789012345678901"},
		{"-123456789012345678900", "-1234567890123456789.00e2"},
		{"-10", "-1e1", "-10.000"},
		{"-1"},
		{"-0.1"},
		{"-1e-400"},
		{"0", "-0", "0.0", "0e99999999999999999999", "-0.000e-5"},
		{"1e-400"},
		{"0.001", "1e-3", "0.1e-2", "10E-4"},
		{"0.0011"},
		{"0.1"},
		{"0.12", "1.2e-1"},
		{"0.2"},
		{"1", "1.0", "10e-1", "0.1e1", "0.01E+2"},
		{"1.0000000000000000000000001"},
		{"2"},
		{"9.99"},
		{"10"},
		{"10.5"},
		{"11"},
		{"100", "1e2"},
		{"9007199254740992"},
		{"9007199254740993"},
		{"1e400"},
		{"1e99999999999999999999999999", "1e99999999999999999999999998"},
	}
	for i, a := range groups {
		for j, b := range groups {
			for _, x := range a {
				for _, y := range b {
					assert.Equal(t, fmt.Sprintf("compare(%s, %s)", x, y), parseDecimal([]byte(x)).compare(parseDecimal([]byte(y))), sign(i-j))
				}
			}
		}
	}
}

func sign(n int) int { return min(1, max(-1, n)) }

func TestNumber_IsInteger(t *testing.T) {
	for raw, want := range map[string]bool{
		"0": true, "-0.0": true, "1": true, "1.0": true, "1.50": false, "1.5e1": true, "1.55e1": false, "10e-1": true,
		"1e-1": false, "100e-2": true, "100e-3": false, "1e400": true, "0e-99": true, "123.4500e2": true, "0.001e3": true,
		"0.0015e3": false, "1e99999999999999999999": true, "1e-99999999999999999999": false, "12345678901234567890": true,
	} {
		assert.Equal(t, "isInteger("+raw, isInteger([]byte(raw)), want)
	}
}

// TestNumber_DecimalAgrees compares made numbers with math/big.
func TestNumber_DecimalAgrees(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 50_000 {
		x, y := makeNumber(rnd), makeNumber(rnd)
		a, _ := new(big.Rat).SetString(x)
		b, _ := new(big.Rat).SetString(y)
		assert.EqualNow(t, fmt.Sprintf("compare(%s, %s)", x, y), parseDecimal([]byte(x)).compare(parseDecimal([]byte(y))), a.Cmp(b))
		assert.EqualNow(t, "isInteger("+x, isInteger([]byte(x)), a.IsInt())
	}
}

// makeNumber makes numbers that are often equal to one another in different spellings.
func makeNumber(rnd *rand.Rand) string {
	s := []string{"", "-"}[rnd.IntN(2)]
	digits := fmt.Sprint(rnd.IntN(12))
	if rnd.IntN(4) == 0 {
		digits = fmt.Sprint(rnd.Uint64())
	}
	s += digits
	if rnd.IntN(2) == 0 {
		s += "." + strings.Repeat("0", rnd.IntN(3)) + fmt.Sprint(rnd.IntN(30)) + strings.Repeat("0", rnd.IntN(3))
	}
	if rnd.IntN(3) == 0 {
		s += []string{"e", "E", "e+", "e-", "E-"}[rnd.IntN(5)] + fmt.Sprint(rnd.IntN(6))
	}
	return s
}

func TestNumber_Huge(t *testing.T) {
	for raw, want := range map[string]bool{
		"1": false, "1e400": false, "1e20001": true, "1e-20002": true, "1e999999999999999999999": true,
		strings.Repeat("9", maxDigits): false, strings.Repeat("9", maxDigits+1): true, "0e999999999": false,
	} {
		assert.True(t, huge([]byte(raw)) == want, "huge(%.20s) = %v, want %t", raw, !want, want)
	}
}
