package ventu

import "testing"

// TestJobMoves walks every pair of phases.
func TestJobMoves(t *testing.T) {
	legal := map[[2]jobPhase]bool{
		{jobWaiting, jobSent}: true, {jobWaiting, jobEnded}: true, {jobSent, jobWaiting}: true, {jobSent, jobEnded}: true,
	}
	for from := range jobPhases {
		for to := range jobPhases {
			j := Job{phase: from}
			if moved := j.move(to); moved != legal[[2]jobPhase{from, to}] || (j.phase == to) != (moved || from == to) {
				t.Errorf("from %d to %d: moved %v, now %d", from, to, moved, j.phase)
			}
		}
	}
}

// TestWorkerMoves walks every pair of phases.
func TestWorkerMoves(t *testing.T) {
	legal := map[[2]workerPhase]bool{
		{workerFresh, workerIdle}: true, {workerFresh, workerDisconnected}: true, {workerIdle, workerBusy}: true,
		{workerIdle, workerDisconnected}: true, {workerBusy, workerIdle}: true, {workerBusy, workerDisconnected}: true,
		{workerFresh, workerSuspended}: true, {workerBusy, workerSuspended}: true, {workerSuspended, workerIdle}: true,
		{workerSuspended, workerDisconnected}: true,
	}
	for from := range workerPhases {
		for to := range workerPhases {
			w := worker{phase: from}
			if moved := w.move(to); moved != legal[[2]workerPhase{from, to}] || (w.phase == to) != (moved || from == to) {
				t.Errorf("from %d to %d: moved %v, now %d", from, to, moved, w.phase)
			}
		}
	}
}
