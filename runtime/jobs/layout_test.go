package jobs

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestMembersWithOtherSettingsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.Embedded = nil }) // whose bytes depend on its disk
	for field, change := range map[string]func(*Options){
		"max_msgs":                func(o *Options) { o.Capacity = 7 },
		"max_bytes":               func(o *Options) { o.Bytes = 1 << 20 },
		"ack_wait":                func(o *Options) { o.AckWait = time.Minute },
		"discard_new_per_subject": func(o *Options) { o.TenantCapacity = 3 },
	} {
		o := r.o
		change(&o)
		_, err := Open(t.Context(), r.nc, o)
		var mismatch *MismatchError
		if !errors.As(err, &mismatch) || mismatch.Field != field || mismatch.Have == mismatch.Want || !strings.Contains(err.Error(), mismatch.Want) {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

func TestAMissingPartIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	if err := r.js.DeleteStream(t.Context(), r.names.dead()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), r.nc, r.o); err == nil || !strings.Contains(err.Error(), "PINION_DEAD_m of the job queue is missing") {
		t.Errorf("got %v", err)
	}
}

func TestMembersMayComeAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	o := r.o
	o.Model = "other"
	var all sync.WaitGroup
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			if _, err := Open(t.Context(), r.nc, o); err != nil {
				t.Errorf("got %v", err)
			}
		}()
	}
	all.Wait()
}

func TestOldServersAreRefused(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{"2.13.9": false, "1.4.0": false, "": false, "2.14.0": true, "2.15.2": true, "3.0.0": true} {
		if err := checkServer(version); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
}
