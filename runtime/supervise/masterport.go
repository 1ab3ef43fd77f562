package supervise

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

// portTries is how often a setup is tried again with another port, because another process has taken its port.
const portTries = 5

// masterPort returns a free port for the ranks of a group to meet at. The kernel gives no client a port outside of the
// ephemeral range, so it is likely to be free still when rank 0 listens there.
func masterPort() (int, error) {
	low, high := ephemeralRange()
	from, to := 10000, low
	if to-from < 1000 {
		from, to = high+1, 1<<16
	}
	if to-from < 1000 {
		from, to = 10000, 1<<16
	}
	for range 100 {
		if port := from + rand.IntN(to-from); isFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("find a free port for MASTER_PORT between %d and %d: all that were tried are taken", from, to-1)
}

func isFree(port int) bool {
	l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// ephemeralRange returns the ports that the kernel gives to clients; ip(7).
func ephemeralRange() (low, high int) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err == nil {
		_, err = fmt.Sscan(string(text), &low, &high)
	}
	if err != nil || low < 1 || high < low {
		return 32768, 60999
	}
	return low, high
}
