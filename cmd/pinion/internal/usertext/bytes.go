package usertext

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a number of bytes. It implements pflag.Value.
type Bytes int64

// Set reads a number of bytes, or one with a unit, as 1.5GiB.
func (c *Bytes) Set(v string) error {
	text := strings.ToUpper(strings.TrimSpace(v))
	text = strings.TrimSuffix(strings.TrimSuffix(text, "B"), "I")
	unit := 1.0
	if i := strings.IndexAny(text, "KMGT"); i >= 0 && i == len(text)-1 {
		unit = math.Pow(1024, float64(strings.IndexByte("KMGT", text[i])+1))
		text = strings.TrimSpace(text[:i])
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n*unit < 1<<62) {
		return fmt.Errorf("invalid size %q: must be a number of bytes, or one with KiB, MiB, GiB or TiB", v)
	}
	*c = Bytes(n * unit)
	return nil
}

func (c *Bytes) String() string { return strconv.FormatInt(int64(*c), 10) }

func (c *Bytes) Type() string { return "bytes" }
