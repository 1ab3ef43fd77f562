package ventu

import (
	"net"
	"net/netip"
	"os"
	"testing"

	"pinion/tests/assert"
)

// TestPeer_IsRecognised: both ends of these connections are this process's.
func TestPeer_IsRecognised(t *testing.T) {
	networks(t, func(t *testing.T, network string) {
		r := newRig(t, network, Options{})
		w := r.worker()
		pids := r.Load().PIDs
		assert.True(t, len(pids) == 1 && pids[0] == os.Getpid(), "the worker's processes are %v, want %d", pids, os.Getpid())
		w.run()
		r.submit("a").ends(200, "re: a")
	})
}

func TestPeer_ProcAddr(t *testing.T) {
	for text, want := range map[string]string{
		"0100007F:1F90":                         "127.0.0.1:8080",
		"0000000000000000FFFF00000100007F:0050": "127.0.0.1:80",
		"00000000000000000000000001000000:0001": "[::1]:1",
	} {
		got := procAddr(text)
		assert.True(t, got == netip.MustParseAddrPort(want), "%s is %s, want %s", text, got, want)
	}
	for _, text := range []string{"", "0100007F", "0100007F:", "xx:1F90", "010000:1F90", "0100007F0100007F:1F90"} {
		got := procAddr(text)
		assert.False(t, got.IsValid(), "%q is %s, want IsValid false", text, got)
	}
}

// TestPeer_OtherProgramsAreLeftAlone: this process has no ventu, so its sockets stay as they are.
func TestPeer_OtherProgramsAreLeftAlone(t *testing.T) {
	assert.False(t, hasVentu(os.Getpid()), "this process is taken for ventu")
	here, far := net.Pipe()
	defer here.Close()
	defer far.Close()
	p := peerOf(here)
	assert.True(t, p.pid == 0 && p.fd == -1, "the other end of a pipe is %+v, want pid 0 and fd -1", p)
}
