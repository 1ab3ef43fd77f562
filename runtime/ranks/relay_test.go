package ranks

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/ipc"
	"pinion/tests/assert"
)

func succeeded(output any) string { return fmt.Sprintf(`{"metrics":{},"output":%v}`, output) }

func failed(text string) string { return fmt.Sprintf(`{"metrics":{},"error":%q}`, text) }

// TestRelay_OneRequestAtATime: the next one comes when all ranks have ended the one before, and the answer is rank 0's.
func TestRelay_OneRequestAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.request(64, 0, "one")
	r.request(129, 0, "revoked")
	assert.True(t, r.words.Revoke(129), "it was not queued")
	r.request(194, 0, "two")
	for _, rank := range r.ranks {
		rank.want(t, ipc.KindPredict, 64, "one")
	}
	assert.Equal(t, "claim", r.words.Claim(64), ipc.ClaimRunning)
	assert.Equal(t, "running", r.words.Running(), uint64(64))
	for _, i := range []int{2, 0, 1} {
		r.ranks[i].wantNone(t)
		r.ranks[i].send(t, ipc.KindSucceeded, 64, succeeded(i))
	}
	r.front.want(t, ipc.KindSucceeded, 64, succeeded(0))
	for _, rank := range r.ranks {
		rank.want(t, ipc.KindPredict, 194, "two")
	}
	rank, id := r.relay.Untaken()
	assert.True(t, rank == 0 && id == 194, "untaken: got rank %d, id %d, want rank 0, id 194", rank, id)
}

// TestRelay_Failures: the error names the rank, unless all say the same.
func TestRelay_Failures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		says [3]string // errors; "" is a success, "-" no answer
		want string    // the error, or "" for rank 0's success
	}{
		{"none", [3]string{"", "", ""}, ""},
		{"all", [3]string{"a", "a", "a"}, "a"},
		{"one of the others", [3]string{"", "", "a"}, "rank 2: a"},
		{"rank 0", [3]string{"a", "", ""}, "rank 0: a"},
		{"all, differently", [3]string{"b", "a", "a"}, "rank 0: b"},
		{"the others hang", [3]string{"-", "a", "-"}, "rank 1: a"},
		{"the same of two, one hangs", [3]string{"a", "a", "-"}, "rank 0: a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 3)
			r.request(64, 0, "")
			for _, rank := range r.ranks {
				rank.want(t, ipc.KindPredict, 64, "")
			}
			for i, text := range c.says {
				switch text {
				case "-":
					continue
				case "":
					r.ranks[i].send(t, ipc.KindSucceeded, 64, succeeded(i))
				default:
					r.ranks[i].send(t, ipc.KindFailed, 64, failed(text))
				}
				assert.Eventually(t, "the relay has it", func() bool { // so the first is the first
					r.relay.mu.Lock()
					defer r.relay.mu.Unlock()
					a := r.relay.answers[64]
					return a == nil || a.ended&(1<<i) != 0
				})
			}
			if c.want == "" {
				r.front.want(t, ipc.KindSucceeded, 64, succeeded(0))
			} else {
				r.front.want(t, ipc.KindFailed, 64, failed(c.want))
			}
			for i, text := range c.says {
				if text == "-" {
					r.ranks[i].send(t, ipc.KindSucceeded, 64, succeeded(i))
				}
			}
			r.request(128, 0, "") // all have ended, and the answer was sent once
			for i, rank := range r.ranks {
				rank.want(t, ipc.KindPredict, 128, "")
				rank.send(t, ipc.KindSucceeded, 128, succeeded(i))
			}
			r.front.want(t, ipc.KindSucceeded, 128, succeeded(0))
		})
	}
}

// TestRelay_LostRank: what others raise then is only a consequence, so the relay answers nothing.
func TestRelay_LostRank(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.request(64, 0, "")
	r.ranks[1].want(t, ipc.KindPredict, 64, "")
	r.ranks[1].conn.Close()
	assert.ErrorIs(t, "the loss", <-r.lost, ipc.ErrClosed)
	r.ranks[0].send(t, ipc.KindFailed, 64, failed("a peer is gone"))
	r.ranks[0].conn.Close()
	r.relay.Close()
	_, open := <-r.front.got
	assert.False(t, open, "the front got a frame, want the end of the channel")
}

// TestRelay_LastAnswer: what a rank sent before its end is passed on.
func TestRelay_LastAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.request(64, 0, "")
	for _, rank := range r.ranks {
		rank.want(t, ipc.KindPredict, 64, "")
		rank.send(t, ipc.KindSucceeded, 64, succeeded(1))
		rank.conn.Close()
	}
	r.relay.Close()
	r.front.want(t, ipc.KindSucceeded, 64, succeeded(1))
}

// TestRelay_BadFrames: a rank that breaks the protocol is lost.
func TestRelay_BadFrames(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(*testing.T, *side){
		"a second answer": func(t *testing.T, s *side) {
			s.send(t, ipc.KindSucceeded, 64, succeeded(0))
			s.send(t, ipc.KindSucceeded, 64, succeeded(0))
		},
		"an unknown answer":        func(t *testing.T, s *side) { s.send(t, ipc.KindFailed, 65, failed("")) },
		"the end of no batch":      func(t *testing.T, s *side) { s.send(t, ipc.KindBatchDone, 64, "{}") },
		"an unknown prepared item": func(t *testing.T, s *side) { s.send(t, ipc.KindPrepared, 65, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2)
			r.request(64, 0, "")
			r.ranks[1].want(t, ipc.KindPredict, 64, "")
			send(t, r.ranks[1])
			assert.ErrorIs(t, "the loss", <-r.lost, ipc.ErrProtocol)
		})
	}
}

// TestRelay_Batch: an item is prepared when it is on all ranks; one that is dropped in its batch is canceled, and all are
// answered after the batch.
func TestRelay_Batch(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	for _, id := range []uint64{64, 65, 66} {
		r.request(id, ipc.FlagBatchItem, "item")
	}
	for _, rank := range r.ranks {
		for _, id := range []uint64{64, 65, 66} {
			rank.want(t, ipc.KindPredict, id, "item")
		}
	}
	for _, id := range []uint64{64, 65, 66} {
		r.ranks[1].send(t, ipc.KindPrepared, id, "")
	}
	r.ranks[0].send(t, ipc.KindPrepared, 65, "")
	r.front.want(t, ipc.KindPrepared, 65, "")
	r.front.wantNone(t)
	r.front.send(t, ipc.KindDrop, 66, string(ipc.IDs(66)))
	r.words.Queue(67)
	r.front.send(t, ipc.KindBatch, 67, `{"ids":[64,65]}`)
	for _, rank := range r.ranks {
		rank.want(t, ipc.KindDrop, 66, string(ipc.IDs(66)))
		rank.want(t, ipc.KindBatch, 67, `{"ids":[64,65]}`)
		rank.send(t, ipc.KindCanceled, 66, `{"metrics":{}}`)
	}
	r.front.want(t, ipc.KindCanceled, 66, `{"metrics":{}}`)
	r.front.send(t, ipc.KindDrop, 65, string(ipc.IDs(65)))
	assert.Eventually(t, "the drop is noted", func() bool {
		r.relay.mu.Lock()
		defer r.relay.mu.Unlock()
		return r.relay.answers[65].dropped
	})
	for _, rank := range r.ranks {
		rank.wantNone(t)
		rank.send(t, ipc.KindSucceeded, 64, succeeded(1))
		rank.send(t, ipc.KindSucceeded, 65, succeeded(2))
		rank.send(t, ipc.KindBatchDone, 67, `{"runs":1,"size":2}`)
	}
	r.front.want(t, ipc.KindBatchDone, 67, `{"runs":1,"size":2}`)
	r.front.want(t, ipc.KindSucceeded, 64, succeeded(1))
	r.front.want(t, ipc.KindCanceled, 65, `{"metrics":{}}`)
}

// TestRelay_Items: the front may send more when all ranks have taken some.
func TestRelay_Items(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.request(64, 0, "")
	for _, rank := range r.ranks {
		rank.want(t, ipc.KindPredict, 64, "")
	}
	r.front.send(t, ipc.KindItem, 64, "1")
	r.front.send(t, ipc.KindItem, 999, "another's")
	r.front.send(t, ipc.KindItemsEnd, 64, "")
	for _, rank := range r.ranks {
		rank.want(t, ipc.KindItem, 64, "1")
		rank.want(t, ipc.KindItemsEnd, 64, "")
	}
	r.ranks[0].sendNumber(t, ipc.KindItemsRead, 64, 32)
	r.ranks[1].sendNumber(t, ipc.KindItemsRead, 64, 40)
	r.ranks[0].sendNumber(t, ipc.KindItemsRead, 64, 32)
	taken := uint64(0)
	for taken < 40 {
		m := r.front.next(t)
		assert.EqualNow(t, "kind", m.frame.Kind, ipc.KindItemsRead)
		taken += m.frame.Nanos
	}
	assert.Equal(t, "items that all have taken", taken, uint64(40))
}

// TestRelay_LargeBodies are one file for all ranks, and no descriptor is left.
func TestRelay_LargeBodies(t *testing.T) {
	r := newRig(t, 3)
	body := strings.Repeat("large", 100_000)
	descriptors := func() int { return len(assert.Must(os.ReadDir("/proc/self/fd"))(t)) }
	before := descriptors()
	for n := range uint64(20) {
		r.request(64*(n+1), 0, body)
		for _, rank := range r.ranks {
			rank.want(t, ipc.KindPredict, 64*(n+1), body)
			rank.send(t, ipc.KindSucceeded, 64*(n+1), succeeded(0))
		}
		r.front.want(t, ipc.KindSucceeded, 64*(n+1), succeeded(0))
	}
	assert.Eventually(t, "no descriptor is left", func() bool { return descriptors() <= before })
}

// TestRelay_PartsAreBounded: those that the slot does not take are forgotten.
func TestRelay_PartsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	for n := range uint64(3 * mostParts) {
		id := 64 * (n + 1)
		r.request(id, ipc.FlagTrace, "")
		for _, rank := range r.ranks {
			rank.want(t, ipc.KindPredict, id, "")
			rank.send(t, ipc.KindSucceeded, id, succeeded(0))
		}
		r.front.want(t, ipc.KindSucceeded, id, succeeded(0))
		if n == 5 {
			parts := r.relay.Parts(id)
			assert.Equal(t, "parts", len(parts), 2)
			assert.Equal(t, "parts that were taken", len(r.relay.Parts(id)), 0)
		}
	}
	r.relay.partsMu.Lock()
	defer r.relay.partsMu.Unlock()
	assert.True(t, len(r.relay.parts) <= mostParts+1, "parts: got %d, want at most %d", len(r.relay.parts), mostParts+1)
}

// TestRelay_Stepless: a request that came to no step, although it ran for longer than a cancel waits.
func TestRelay_Stepless(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	said := make(chan time.Duration, 10)
	r.relay.mu.Lock()
	r.relay.o.Grace, r.relay.o.Stepless = 0, func(took time.Duration) { said <- took }
	r.relay.mu.Unlock()
	r.request(64, 0, "")
	for _, rank := range r.ranks {
		rank.want(t, ipc.KindPredict, 64, "")
		rank.send(t, ipc.KindSucceeded, 64, succeeded(0))
	}
	r.front.want(t, ipc.KindSucceeded, 64, succeeded(0))
	assert.True(t, <-said > 0, "it took no time")
}

// TestRelay_AnyOrder: ranks that take any time see the same requests in the same order, and each is answered once.
func TestRelay_AnyOrder(t *testing.T) {
	t.Parallel()
	const count, requests = 4, 300
	r := newRig(t, count)
	orders := make([][]uint64, count)
	var running sync.WaitGroup
	for i, rank := range r.ranks {
		running.Go(func() {
			for range requests {
				m := <-rank.got
				orders[i] = append(orders[i], m.frame.ID)
				if rand.IntN(4) == 0 {
					time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
				}
				kind, body := ipc.KindSucceeded, succeeded(i)
				if i == int(m.frame.ID)%7 {
					kind, body = ipc.KindFailed, failed("bad")
				}
				if err := rank.conn.Send(kind, m.frame.ID, []byte(body)); err != nil && !errors.Is(err, ipc.ErrClosed) {
					t.Error(err)
				}
			}
		})
	}
	ids := make([]uint64, requests)
	for n := range ids {
		ids[n] = ipc.MakeID(0, uint64(n+1), n%ipc.Claims)
	}
	const ahead = 32
	for _, id := range ids[:ahead] {
		r.request(id, 0, "")
	}
	for n, id := range ids {
		if n+ahead < requests {
			r.request(ids[n+ahead], 0, "")
		}
		if who := int(id) % 7; who < count {
			r.front.want(t, ipc.KindFailed, id, failed(fmt.Sprintf("rank %d: bad", who)))
		} else {
			r.front.want(t, ipc.KindSucceeded, id, succeeded(0))
		}
	}
	running.Wait()
	for i := range orders {
		assert.EqualSlices(t, fmt.Sprint("requests of rank ", i), orders[i], orders[0])
	}
}
