package docs

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// diffusion serves a model of examples/diffusion.
func diffusion(t *testing.T, args ...string) *harness.Server {
	t.Helper()
	python := harness.AnyPython(t)
	harness.NeedModule(t, python, "PIL")
	return harness.Ready(t, harness.Options{Python: python.Path, Dir: harness.Example(t, "diffusion"), Args: args})
}

func TestExamplesDiffusion_SeedOfAnswerGivesThePictureAgain(t *testing.T) {
	t.Parallel()
	s := diffusion(t)
	picture := func(more harness.Input) (string, any) {
		t.Helper()
		input := harness.Input{"prompt": "a fox", "steps": 3}
		maps.Copy(input, more)
		a := s.Succeed(input)
		return string(a.Output), a.Metrics["seed"]
	}
	first, seed := picture(nil)
	again, _ := picture(harness.Input{"seed": seed})
	assert.Equal(t, fmt.Sprintf("seed %v: got another picture than that of the answer with it", seed), again, first)
	if other, chosen := picture(nil); other == first || chosen == seed {
		t.Errorf("without a seed: got the picture and the seed %v twice, want others", seed)
	}
	other, _ := picture(harness.Input{"seed": seed, "prompt": "a cat"})
	assert.True(t, other != first, "got the same picture for two prompts, %.300q, want anything but %q", other, first)
	for _, wrong := range []harness.Input{{"seed": -2}, {"seed": 1 << 32}, {"steps": 0}, {"size": 65}} {
		wrong["prompt"] = "a fox"
		harness.WantCode(t, fmt.Sprint(wrong), s.Input(wrong), http.StatusUnprocessableEntity)
	}
}

func TestExamplesDiffusion_StreamsProgressAndPreviews(t *testing.T) {
	t.Parallel()
	s := diffusion(t)
	a := s.Create(map[string]any{"input": harness.Input{"prompt": "a fox", "steps": 30, "previews": true}},
		"Accept", "text/event-stream")
	harness.WantCode(t, "the stream", a, http.StatusOK)
	text := string(a.Body)
	assert.Equal(t, "events of progress", strings.Count(text, `"name":"progress"`), 30)
	assert.Equal(t, "pictures", strings.Count(text, "event: output"), 3)
	if first, last := strings.Index(text, "event: output"), strings.LastIndex(text, "event: metric"); first > last {
		t.Errorf("got the first picture after the last step, %d, want at most %d:\n%.1000s", first, last, text)
	}
}

func TestExamplesDiffusion_IsCanceledBetweenSteps(t *testing.T) {
	t.Parallel()
	s := diffusion(t)
	pid := s.Worker()
	answer := s.Begin("long", harness.Input{"prompt": "a fox", "steps": 1000, "size": 1024})
	assert.Eventually(t, "the first step has ended", func() bool {
		return harness.StateOf(s, "long").Metrics["progress"] != nil
	})
	harness.WantCode(t, "cancel", s.Cancel("long"), http.StatusOK)
	a := harness.Receive(t, answer)
	harness.WantStatus(t, "the prediction", a, "canceled")
	if progress, _ := a.Metrics["progress"].(float64); progress <= 0 || progress >= 1 {
		t.Errorf("got progress %v of a canceled prediction, want it between 0 and 1", a.Metrics["progress"])
	}
	s.Succeed(harness.Input{"prompt": "a fox", "steps": 1})
	harness.SameWorker(t, s, pid)
}

// TestExamplesDiffusion_BatchedStepsGiveTheSamePictures: pictures that share steps, with different numbers of steps,
// are those that run.py makes one at a time.
func TestExamplesDiffusion_BatchedStepsGiveTheSamePictures(t *testing.T) {
	t.Parallel()
	alone, together := diffusion(t), diffusion(t, "--predictor", "batched.py:Runner", "--queue", "8")
	inputs := make([]harness.Input, 8)
	answers := make([]<-chan harness.Answer, len(inputs))
	for n := range inputs {
		inputs[n] = harness.Input{"prompt": fmt.Sprint("picture ", n), "steps": 100 + 10*n, "seed": n}
		answers[n] = together.Begin(fmt.Sprint("picture-", n), inputs[n])
	}
	for n, input := range inputs {
		var picture []string
		alone.Succeed(input).Decode(t, &picture)
		assert.EqualSlices(t, fmt.Sprintf("picture %d differs from the one that is made alone", n),
			picture, []string{harness.Receive(t, answers[n]).Text(t)})
	}
	var got harness.MetricFamilies
	const steps = 8*100 + 10*28
	assert.Eventually(t, "all steps are reported", func() bool {
		got = harness.Scrape(t, together)
		return got.Sum("pinion_method_batch_size") >= steps
	})
	batches := got.Value("pinion_method_batch_size")
	assert.True(t, batches <= steps*3/4, "got %d steps in %v batches, want at most three quarters", steps, batches)
}
