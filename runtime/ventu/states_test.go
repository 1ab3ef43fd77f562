package ventu

import (
	"testing"

	"pinion/tests/assert"
)

// TestStates_JobMoves walks every pair of phases.
func TestStates_JobMoves(t *testing.T) {
	legal := map[[2]jobPhase]bool{
		{jobWaiting, jobSent}: true, {jobWaiting, jobEnded}: true, {jobSent, jobWaiting}: true, {jobSent, jobEnded}: true,
	}
	assert.Moves(t, jobPhases, legal, func(from, to jobPhase) (bool, jobPhase) {
		j := Job{phase: from}
		return j.move(to), j.phase
	})
}

// TestStates_WorkerMoves walks every pair of phases.
func TestStates_WorkerMoves(t *testing.T) {
	legal := map[[2]workerPhase]bool{
		{workerFresh, workerIdle}: true, {workerFresh, workerDisconnected}: true, {workerIdle, workerBusy}: true,
		{workerIdle, workerDisconnected}: true, {workerBusy, workerIdle}: true, {workerBusy, workerDisconnected}: true,
		{workerFresh, workerSuspended}: true, {workerBusy, workerSuspended}: true, {workerSuspended, workerIdle}: true,
		{workerSuspended, workerDisconnected}: true,
	}
	assert.Moves(t, workerPhases, legal, func(from, to workerPhase) (bool, workerPhase) {
		w := worker{phase: from}
		return w.move(to), w.phase
	})
}
