package queue

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// versionsText serves two versions of the model ocr.
const versionsText = "models:\n  ocr: {path: one}\n  ocr@2: {path: two}\n"

// startVersions serves the models of a file, whose folders it makes in dir.
func startVersions(t *testing.T, nats, dir, text string, args ...string) (s *harness.Server, file string) {
	t.Helper()
	for _, name := range []string{"one", "two", "three"} {
		modelFolder(t, dir, name)
	}
	file = filepath.Join(t.TempDir(), "pinion.yaml")
	harness.WriteFile(t, file, strings.ReplaceAll(text, "path: ", "path: "+dir+"/"))
	s = harness.Start(t, harness.Options{
		Python: harness.AnyPython(t).Path, Dir: dir, Models: []string{"--config", file},
		Args: append([]string{"--nats", nats, "--ack-wait", "15s"}, args...),
	})
	harness.WaitModels(t, s)
	return s, file
}

// ranAt is which folder's model ran a job, and the version that its prediction object names.
func ranAt(t testing.TB, a harness.Answer) (folder, version string) {
	t.Helper()
	folder, _, _, _ = harness.SaidBy(t, a)
	return folder, a.Version
}

// wantRun waits until a job has succeeded, and checks which version ran it.
func wantRun(t testing.TB, s *harness.Server, model, id, folder, version string) {
	t.Helper()
	if f, v := ranAt(t, harness.WaitStatusAt(t, s, model, id, "succeeded")); f != folder || v != version {
		t.Errorf("%s of %s: got it from %s as version %q, want %s and %q", id, model, f, v, folder, version)
	}
}

// TestVersions_JobsByShare: of 50 jobs that are pulled one by one, each version gets its share, before and after the
// traffic shifted. A job that names a version gets that. Ids are the model's, whichever version ran.
func TestVersions_JobsByShare(t *testing.T) {
	t.Parallel()
	s, _ := startVersions(t, "embed:"+t.TempDir(), t.TempDir(), versionsText+"traffic: {ocr@1: 80, ocr@2: 20}\n",
		"--reload")
	count := func(prefix string) map[string]int {
		got := map[string]int{}
		for i := range 50 {
			id := fmt.Sprint(prefix, i)
			harness.EnqueueAt(t, s, "ocr", id, harness.Input{})
			folder, version := ranAt(t, harness.WaitStatusAt(t, s, "ocr", id, "succeeded"))
			got[folder+" "+version]++
		}
		return got
	}
	if got := count("a"); got["one 1"] != 40 || got["two 2"] != 10 {
		t.Errorf("got %v, want 40 of one as version 1 and 10 of two as version 2", got)
	}
	shift := s.Do(http.MethodPost, "/models/ocr/traffic", map[string]any{"ocr@1": 0, "ocr@2": 100})
	harness.WantCode(t, "traffic", shift, http.StatusOK)
	got := count("b")
	assert.True(t, got["two 2"] == 50, "got %v after the promotion, want 50 of version 2", got)
	for version, folder := range map[string]string{"1": "one", "2": "two"} {
		id := "named" + version
		harness.EnqueueAt(t, s, "ocr@"+version, id, harness.Input{})
		wantRun(t, s, "ocr", id, folder, version)
		wantRun(t, s, "ocr@"+version, id, folder, version)
	}
	page := string(s.Do(http.MethodGet, "/metrics", nil).Body)
	for _, want := range []string{
		`pinion_jobs_waiting{model="ocr"} 0`, `pinion_job_wait_seconds_count{model="ocr"} 102`,
		`pinion_predictions_total{mode="async",model="ocr",model_version="2",reason="",status="succeeded"} 61`,
	} {
		assert.Equal(t, " times "+want+" the metrics", strings.Count(page, want), 1)
	}
}

// TestVersions_PromotionLosesNoJob: traffic goes to and fro while jobs run and wait, a version leaves with jobs of its
// own, and each job ends once, at a version that had a share, or that it names.
func TestVersions_PromotionLosesNoJob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, file := startVersions(t, "embed:"+t.TempDir(), dir, versionsText, "--reload", "--grace", "60s")
	open := harness.MakeFIFO(t, filepath.Join(dir, "one"), "gate")
	harness.EnqueueAt(t, s, "ocr", "runs", harness.Input{"gate": "gate"})
	harness.WaitStatusAt(t, s, "ocr", "runs", "processing")
	for i := range 40 {
		harness.EnqueueAt(t, s, "ocr", fmt.Sprint("waits", i), harness.Input{})
	}
	harness.EnqueueAt(t, s, "ocr@1", "named", harness.Input{})
	shift := func(first, second int) {
		a := s.Do(http.MethodPost, "/models/ocr/traffic", map[string]any{"ocr@1": first, "ocr@2": second})
		harness.WantCode(t, "traffic", a, http.StatusOK)
	}
	shift(0, 100)
	for i := range 40 {
		wantRun(t, s, "ocr", fmt.Sprint("waits", i), "two", "2")
	}
	assert.Equal(t, "what runs at the old version", harness.StateAt(s, "ocr", "runs").Status, "processing")
	assert.Equal(t, "what names the old version", harness.StateAt(s, "ocr", "named").Status, "starting")
	open()
	wantRun(t, s, "ocr", "runs", "one", "1")
	wantRun(t, s, "ocr", "named", "one", "1")
	shift(100, 0)
	harness.EnqueueAt(t, s, "ocr", "back", harness.Input{})
	wantRun(t, s, "ocr", "back", "one", "1")

	harness.EnqueueAt(t, s, "ocr@1", "leaves", harness.Input{"gate": "gate"})
	harness.WaitStatusAt(t, s, "ocr", "leaves", "processing")
	harness.EnqueueAt(t, s, "ocr@1", "stays", harness.Input{})
	harness.WriteFile(t, file, "models:\n  ocr@2: {path: "+dir+"/two}\n  ocr@3: {path: "+dir+"/three}\n")
	s.Signal(syscall.SIGHUP)
	assert.Eventually(t, "the file's versions", func() bool {
		return s.Do(http.MethodGet, "/models/ocr@3", nil).Code == http.StatusOK
	})
	harness.EnqueueAt(t, s, "ocr", "next", harness.Input{})
	wantRun(t, s, "ocr", "next", "two", "2")
	harness.OpenFIFO(filepath.Join(dir, "one", "gate"))
	wantRun(t, s, "ocr", "leaves", "one", "1")
	assert.Equal(t, "what names a version that is gone", harness.StateAt(s, "ocr", "stays").Status, "starting")
	harness.WriteFile(t, file, "models:\n  ocr: {path: "+dir+"/one}\n  ocr@3: {path: "+dir+"/three}\n")
	s.Signal(syscall.SIGHUP)
	wantRun(t, s, "ocr", "stays", "one", "1")
}

// TestVersions_Fleet: servers have other versions of a model, and other shares. A gateway gives what names a version to
// a server that has it, whichever protocol names it; if that is lost, to another one.
func TestVersions_Fleet(t *testing.T) {
	t.Parallel()
	at := harness.StartNATSOf(t, "ocr")
	dir := t.TempDir()
	g := harness.StartGatewayWith(t, at.URL, "--models", "ocr")
	both, _ := startVersions(t, at.URL, dir, versionsText)
	new, _ := startVersions(t, at.URL, dir, "models:\n  ocr@2: {path: two}\n  ocr@3: {path: three}\n")
	assert.Eventually(t, "the gateway knows the versions", func() bool {
		return g.Do(http.MethodGet, "/models/ocr@1/openapi.json", nil).Code == http.StatusOK &&
			g.Do(http.MethodGet, "/models/ocr@2/openapi.json", nil).Code == http.StatusOK &&
			g.Do(http.MethodGet, "/models/ocr@3/openapi.json", nil).Code == http.StatusOK
	})
	assert.Eventually(t, "the live view has the versions of each server, with their slots", func() bool {
		view := string(g.Do(http.MethodGet, "/dashboard/fleet", nil).Body)
		return strings.Contains(view, `"versions":{"1":1,"2":1}`) && strings.Contains(view, `"versions":{"2":1,"3":1}`)
	})
	for version, folder := range map[string]string{"1": "one", "2": "two", "3": "three"} {
		for range 5 {
			got := harness.PredictBy(g.Server, "ocr@"+version, harness.Input{})
			f, v := ranAt(t, got)
			assert.True(t, f == folder && v == version, "ocr@%s: got it from %s as version %q, want %s", version, f, v, folder)
		}
		infer := g.Do(http.MethodPost, "/v2/models/ocr/versions/"+version+"/infer",
			`{"inputs":[{"name":"text","datatype":"BYTES","shape":[1],"data":["x"]}]}`)
		harness.WantAnswer(t, "infer at version "+version, infer, http.StatusOK, `"data":["`+folder+` 3.`)
		harness.WantAnswer(t, "its version", infer, http.StatusOK, `"model_version":"`+version+`"`)
	}
	harness.WantAnswer(t, "an unknown version", harness.PredictBy(g.Server, "ocr@4", harness.Input{}), http.StatusNotFound,
		`This server has no model \"ocr@4\"`)
	harness.WantCode(t, "what does not fit", g.Do(http.MethodPost, "/models/ocr@3/predictions", `{"input":{"text":1}}`),
		http.StatusUnprocessableEntity)

	hooks := harness.NewHookReceiver(t)
	harness.MakeFIFO(t, filepath.Join(dir, "two"), "gate")
	harness.EnqueueAt(t, g.Server, "ocr@2", "moves", harness.Input{"gate": "gate"})
	var holder *harness.Server
	assert.Eventually(t, "it runs", func() bool {
		var list struct {
			Jobs []struct{ ID, Status, Server, Version string }
		}
		text := harness.CLI{}.Good(t, "jobs", "list", "--json", "--nats", at.URL, "--model", "ocr")
		harness.FromJSON(t, []byte(text), &list)
		assert.TrueNow(t, len(list.Jobs) == 1 && list.Jobs[0].Version == "2", "got %s, want one job of version 2", text)
		return list.Jobs[0].Status == "running"
	})
	for _, s := range []*harness.Server{both, new} {
		if s.Do(http.MethodGet, "/metrics", nil).Code == http.StatusOK &&
			strings.Contains(string(s.Do(http.MethodGet, "/metrics", nil).Body), `pinion_jobs_running{model="ocr"} 1`) {
			holder = s
		}
	}
	body := map[string]any{
		"id": "hooked", "input": harness.Input{}, "webhook": hooks.URL,
		"webhook_events_filter": []string{"completed"},
	}
	harness.WantCode(t, "a job with a webhook",
		g.Do(http.MethodPost, "/models/ocr@1/predictions", body, "Prefer", "respond-async"), http.StatusAccepted)
	assert.Eventually(t, "its webhook", func() bool { return len(hooks.Of("hooked")) == 1 })
	assert.Equal(t, "the version in the webhook", hooks.Of("hooked")[0].Version, "1")
	holder.Kill()
	assert.Eventually(t, "the other server runs it", func() bool {
		harness.OpenFIFO(filepath.Join(dir, "two", "gate"))
		return harness.StateAt(g.Server, "ocr", "moves").Status == "succeeded"
	})
	wantRun(t, g.Server, "ocr", "moves", "two", "2")
	gone, there := "3", "ocr@1, ocr@2"
	if holder == both {
		gone, there = "1", "ocr@2, ocr@3"
	}
	assert.Eventually(t, "the lost server is known to be gone", func() bool {
		a := harness.PredictBy(g.Server, "ocr@"+gone, harness.Input{})
		return a.Code == http.StatusServiceUnavailable &&
			strings.Contains(string(a.Body), "No server has ocr@"+gone+" now; the servers have "+there)
	})
}

// TestVersions_MirrorOfJobs: the mirror gets a copy of each job, whose answer is dropped.
func TestVersions_MirrorOfJobs(t *testing.T) {
	t.Parallel()
	s, _ := startVersions(t, "embed:"+t.TempDir(), t.TempDir(),
		"models:\n  ocr: {path: one}\n  ocr@2: {path: two, queue: 10}\nmirror: ocr@2\n")
	for i := range 10 {
		id := fmt.Sprint("p", i)
		harness.EnqueueAt(t, s, "ocr", id, harness.Input{})
		wantRun(t, s, "ocr", id, "one", "1")
	}
	assert.Eventually(t, "ten copies were compared", func() bool {
		page := string(s.Do(http.MethodGet, "/metrics", nil).Body)
		return strings.Contains(page, `pinion_mirrored_predictions_total{model="ocr",model_version="2",result="same"} 10`)
	})
}

// TestVersions_OnDemand: a job that names a version loads it, and so do jobs of its share.
func TestVersions_OnDemand(t *testing.T) {
	t.Parallel()
	s, _ := startVersions(t, "embed:"+t.TempDir(), t.TempDir(),
		"models:\n  ocr: {path: one}\n  ocr@2: {path: two, load: on-demand}\n  ocr@3: {path: three, load: on-demand}\n"+
			"traffic: {ocr@1: 50, ocr@2: 50}\n")
	harness.EnqueueAt(t, s, "ocr@3", "named", harness.Input{})
	wantRun(t, s, "ocr", "named", "three", "3")
	waitState(t, s, "ocr@2", "unloaded")
	n := 0
	assert.Eventually(t, "jobs load the version that has half of them", func() bool {
		n++
		id := fmt.Sprint("p", n)
		harness.EnqueueAt(t, s, "ocr", id, harness.Input{})
		folder, _ := ranAt(t, harness.WaitStatusAt(t, s, "ocr", id, "succeeded"))
		return folder == "two"
	})
}

// TestVersions_ShareResultTTL: they share a queue, which keeps results for one time.
func TestVersions_ShareResultTTL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	modelFolder(t, dir, "one")
	file := filepath.Join(dir, "pinion.yaml")
	harness.WriteFile(t, file, "models:\n  ocr: {path: one}\n  ocr@2: {path: one, result-ttl: 1h}\n")
	got := harness.CLI{}.Bad(t, 2, "serve", "--config", file, "--python", harness.AnyPython(t).Path, "--nats",
		"embed:"+dir+"/jobs")
	assert.Contains(t, "other times", got, "ocr has result-ttl 10m0s and ocr@2 has 1h0m0s", "give both the same")
}
