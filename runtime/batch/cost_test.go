package batch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pinion/tests/assert"
)

func TestCost_ClassesCoverAllSizes(t *testing.T) {
	for n := 1; n <= LargestSize; n++ {
		c := classOf(n)
		assert.TrueNow(t, n <= largest(c) && (c <= 0 || n > largest(c-1)),
			"%d is in class %d, which ends at %d, want at most %d and more than %d", n, c, largest(c), largest(c), largest(c-1))
	}
	for n := 1; n <= LargestSize; n *= 2 {
		assert.Equal(t, "largest size of the class", largest(classOf(n)), n)
	}
	assert.Equal(t, fmt.Sprintf("the last class of %d", classes), classOf(LargestSize), classes-1)
}

// taught has met batches of these sizes, many times, at a price that is noisy.
func taught(p price, sizes ...int) *Cost {
	r := rand.New(rand.NewPCG(1, 1))
	var c Cost
	for range 40 {
		for _, n := range sizes {
			took := float64(p.of(n))
			c.Learn(n, time.Duration(took*(1+noise*(2*r.Float64()-1))))
		}
	}
	return &c
}

func near(got, want time.Duration, share float64) bool {
	return math.Abs(float64(got-want)) <= share*float64(want)
}

func TestCost_LearnsLine(t *testing.T) {
	p := line("", 5*ms, 100*us)
	c := taught(p, 1, 8, 32)
	for _, n := range []int{1, 4, 16, 20, 32} {
		got := c.Of(n)
		assert.True(t, near(got, p.of(n), 0.05), "a batch of %d: %v, want %v", n, got, p.of(n))
	}
	if a, b := c.Line(); !near(a, 5*ms, 0.05) || !near(b, 100*us, 0.15) {
		t.Errorf("the line is %v + %v·n, want about %v and about %v", a, b, 5*ms, 100*us)
	}
	got := time.Duration(c.saving(20, 1))
	assert.True(t, near(got, 5*ms, 0.1), "one more saves %v, want about %v", got, 5*ms)
}

func TestCost_LearnsSteps(t *testing.T) {
	p := steps()
	c := taught(p, 1, 2, 4, 7, 8, 12, 15, 16, 20, 27, 32)
	for _, n := range []int{1, 8, 16, 20, 32} {
		got := c.Of(n)
		assert.True(t, near(got, p.of(n), 0.1), "a batch of %d: %v, want %v", n, got, p.of(n))
	}
	s := c.saving(16, 1)
	assert.True(t, s <= 0, "the 17th saves %v, and costs a step, want at most 0", time.Duration(s))
	if s := time.Duration(c.saving(20, 1)); s < ms {
		t.Errorf("the 21st saves only %v, want at least %v", s, ms)
	}
}

func TestCost_KeepsWhatItKnows(t *testing.T) {
	p := line("", 5*ms, 100*us)
	c := taught(p, 1, 8, 32)
	for range 2000 {
		c.Learn(32, p.of(32))
	}
	a, _ := c.Line()
	assert.True(t, near(a, 5*ms, 0.05), "after a long load of full batches a is %v, want about %v", a, 5*ms)
}

func TestCost_FollowsModelThatChanges(t *testing.T) {
	c := taught(line("", 5*ms, 0), 1, 8, 32)
	now := line("", 20*ms, 0)
	for range 60 {
		for _, n := range []int{1, 8, 32} {
			c.Learn(n, now.of(n))
		}
	}
	got := c.Of(8)
	assert.True(t, near(got, 20*ms, 0.05), "a batch of 8: %v, want about %v", got, 20*ms)
}

func TestCost_WithoutExperience(t *testing.T) {
	var c Cost
	assert.Equal(t, "cost of 7", c.Of(7), 0)
	assert.Equal(t, "best cost of 7", c.BestOf(7), 7)
	c.Learn(0, ms)
	c.Learn(3, -1)
	assert.Equal(t, "learned from nothing", c.serial, 0)
	c.Learn(4, 8*ms)
	a, b := c.Line()
	assert.True(t, a == 8*ms && b == 0, "one size: %v + %v·n, want %v and 0", a, b, 8*ms)
}

func TestCost_BestOf(t *testing.T) {
	padded := taught(steps(), 1, 2, 4, 8, 9, 12, 16, 20, 27, 32)
	for ready, want := range map[int]int{1: 1, 4: 4, 5: 5, 8: 8, 9: 8, 16: 16, 17: 16, 20: 16, 31: 31, 32: 32} {
		assert.Equal(t, fmt.Sprintf("the best of %d", ready), padded.BestOf(ready), want)
	}
	// The same where the step to come is known and no batch of 16 was met: no item stays behind on a guess.
	assert.Equal(t, "calls of 20 that leave, as 16 never came", taught(steps(), 1, 20, 32).BestOf(20), 20)
	for _, p := range []price{line("", 5*ms, 0), line("", 5*ms, 100*us), line("", 0, ms)} {
		c := taught(p, 1, 2, 4, 8, 12, 16, 20, 27, 32)
		for ready := 1; ready <= 32; ready++ {
			got := c.BestOf(ready)
			assert.True(t, got == ready, "%v + …: got %d of %d, want all", p.of(0), got, ready)
		}
	}
}
