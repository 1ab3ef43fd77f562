package mcp

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// extensionTasks names the extension by which clients ask for a call's prediction later (SEP-2663). Who has a task's id has the
// task: it is the tool's name and 128 random bits, and its hash is the prediction's id. So any server that can find the prediction
// can find the task, and an id that another API shows leads to none.
const extensionTasks = "io.modelcontextprotocol/tasks"

// The methods of tasks, all with the parameter taskId.
const (
	methodTask       = "tasks/get"
	methodCancelTask = "tasks/cancel"
	methodUpdateTask = "tasks/update"
)

// declaresTasks reports whether the client takes a task as the answer to a call.
func (r *request) declaresTasks() bool {
	return r.modern && rawjson.KindOf(member(member(r.capabilities, "extensions"), extensionTasks)) == rawjson.KindObject
}

// keepsTasks reports whether a model's predictions are kept for their clients.
func keepsTasks(m *protocol.Model) bool { return m.ResultTTL > 0 }

// predictionOf returns the id of a task's prediction.
func predictionOf(task string) string {
	sum := sha256.Sum256([]byte(task))
	return hex.EncodeToString(sum[:16])
}

// waitAsTask carries out the call, and answers with its result, or with a task if that takes long.
func (c *call) waitAsTask() {
	after := c.s.o.TaskAfter
	if c.tool.task {
		after = 0
	}
	task := c.name + "." + rand.Text()
	of := c.take()
	of.ID = predictionOf(task)
	job, err := c.x.Jobs().AwaitJob(c.x.RequestCtx, c.model, of, after)
	switch {
	case err != nil:
		c.fail(err)
	case job.Record.Status.Terminal():
		c.tool.note(job.Record)
		job.Send(c.x, contentJSON, append(c.appendResult(c.open(), job.Record), []byte("}}"))...)
	default:
		dst := c.appendTask(c.openAs("task"), task, job.Record)
		job.Free()
		c.send(dst)
	}
}

// askTask answers the methods of tasks.
func (r *request) askTask() *rpcError {
	if !r.declaresTasks() {
		return lacksTasks()
	}
	task, ok := r.textMember("taskId")
	if !ok {
		return refusal(codeParams, "taskId must be a string")
	}
	c := &call{request: r, name: task[:max(0, strings.LastIndexByte(task, '.'))], inline: maxInline}
	unknown := refusal(codeParams, "unknown task %q: it may have expired", logtext.Clip(task))
	if c.model = r.find(c.name); c.model == nil {
		return unknown
	}
	job, ok, err := r.x.Jobs().LookUp(c.model, predictionOf(task))
	if err == nil && ok && r.method == methodCancelTask {
		_, err = r.x.Jobs().CancelJob(c.model, job.ID)
	}
	switch {
	case err != nil:
		job.Free()
		err.Answer(r.x.RequestCtx, errorBody(r.id, &rpcError{code: codeInternal, message: err.Message}))
		return nil
	case !ok:
		return unknown
	case r.method != methodTask: // no task asks its client for input, so an update brings none
		job.Free()
		r.send(r.open())
		return nil
	}
	of := job.Record
	if of == nil {
		of = readObject(job.Object[1])
	}
	document, ok := c.model.OpenAPI()
	if !ok {
		document, _ = c.model.LoadOpenAPI()
	}
	c.tool, c.address = r.s.toolOf(c.model, document), r.x.Jobs().Address(r.x.RequestCtx)
	c.tool.note(of)
	parts := [][]byte{c.appendTask(r.open(), task, of)}
	if of.Status == predict.Succeeded || of.Status == predict.Failed {
		parts = c.appendResult(r.openResult(addMember(parts[0], "result"), "complete"), of)
		parts = append(parts, []byte{'}'})
	}
	job.Send(r.x, contentJSON, append(parts, []byte("}}"))...)
	return nil
}

// lacksTasks refuses a client that has not declared tasks.
func lacksTasks() *rpcError {
	bad := refusal(codeLacks, "the request must declare the capability %s", extensionTasks)
	bad.data = []byte(`{"requiredCapabilities":{"extensions":{"` + extensionTasks + `":{}}}}`)
	return bad
}

// taskStatuses are the words for the states of a prediction. What went wrong in the model is a result.
var taskStatuses = [...]string{
	predict.Starting: "working", predict.Processing: "working",
	predict.Succeeded: "completed", predict.Failed: "completed", predict.Canceled: "cancelled",
}

// Bounds of how often a client is asked to look after a task: every eighth of the time that it takes.
const (
	minPoll = 500 * time.Millisecond
	maxPoll = 10 * time.Second
)

// appendTask appends the members of a task but its result.
func (c *call) appendTask(dst []byte, task string, of *predict.Record) []byte {
	updated, until := cmp.Or(of.Completed, of.Started, of.Created), cmp.Or(of.Completed, time.Now())
	age := max(0, until.Sub(of.Created))
	dst = addText(dst, "taskId", task)
	dst = addText(dst, "status", taskStatuses[of.Status])
	if of.Status == predict.Processing {
		line := logtext.LastLine(string(logtext.Tail(of.Logs, maxLogBytes)))
		if _, ok := logtext.Percent(line); ok {
			dst = addText(dst, "statusMessage", strings.TrimSpace(line))
		}
	}
	dst = addText(dst, "createdAt", of.Created.UTC().Format(time.RFC3339Nano))
	dst = addText(dst, "lastUpdatedAt", updated.UTC().Format(time.RFC3339Nano))
	dst = strconv.AppendInt(addMember(dst, "ttlMs"), (age + c.model.ResultTTL).Milliseconds(), 10) // from its creation on
	poll := min(max(age, time.Duration(c.tool.took.Load()))/8, maxPoll)
	return strconv.AppendInt(addMember(dst, "pollIntervalMs"), max(poll, minPoll).Milliseconds(), 10)
}

// note remembers how long a prediction of the tool took.
func (t *tool) note(of *predict.Record) {
	if !of.Started.IsZero() && !of.Completed.IsZero() {
		t.took.Store(int64(of.Completed.Sub(of.Started)))
	}
}

// readObject reads the object of a prediction that the job queue has.
func readObject(object []byte) *predict.Record {
	of := &predict.Record{}
	for key, value := range rawjson.Members(object) {
		switch name, text := rawjson.KeyText(key), textOf(value); name {
		case "id":
			of.ID = text
		case "status":
			for s := range predict.Status(len(taskStatuses)) {
				if s.String() == text {
					of.Status = s
				}
			}
		case "output":
			of.Output = value
		case "error":
			of.Error = text
		case "logs":
			of.Logs = []byte(text)
		case "created_at":
			of.Created, _ = time.Parse(time.RFC3339Nano, text)
		case "started_at":
			of.Started, _ = time.Parse(time.RFC3339Nano, text)
		case "completed_at":
			of.Completed, _ = time.Parse(time.RFC3339Nano, text)
		}
	}
	return of
}
