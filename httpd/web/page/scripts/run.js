// Running a prediction or a training, and stopping it.

let running = null; // what runs: {id, kind, input, began, chunks, shown, logs, asText, first, place}
let runs = 0;

async function run() {
  if (running || !model.document) return;
  clearProblems();
  const id = `page-${Date.now().toString(36)}-${(runs++).toString(36)}`;
  const streams = isStreaming();
  const mine = { id, kind: collection(), input: inputs(), began: performance.now(), chunks: [], shown: 0, logs: "", asText: isText(), first: 0 };
  running = mine;
  setRunning(true);
  clearResult();
  if (shownTab() !== "chat") showTab("result");
  beginAnswer();
  showProgress();
  revealResult();
  const body = JSON.stringify({ id, input: mine.input });
  if ((!streams || mayCall()) && body.length < MAX_WATCHED) watch(mine, !streams);
  let result;
  try {
    const response = await request("/" + mine.kind, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(streams ? { Accept: "text/event-stream" } : {}) },
      body,
    });
    mine.answered = true;
    if (response.headers.get("Content-Type")?.startsWith("text/event-stream")) result = await follow(response, mine);
    else result = answerOf(response, await response.text());
  } catch {
    result = lost(mine, mine.answered ? "The connection broke before the prediction had ended." : "The server cannot be reached.");
  }
  const seconds = (performance.now() - mine.began) / 1000;
  if (mayCall() && body.length < MAX_WATCHED) await askCalls(mine);
  const { calls, calls_omitted } = mine;
  endRun(mine, calls ? { ...result, calls, calls_omitted } : result, seconds);
}

const mayCall = () => $("calls").dataset.asked === "true"; // other models

function endRun(mine, result, seconds) {
  running = null;
  setRunning(false);
  const ended = { result, seconds, asText: mine.asText, input: mine.input, kind: mine.kind };
  showResult(ended);
  if (mine.chunks.length && !chat.bubble) $("state").append(`, ${paceOf(mine)}`);
  endAnswer({ result, chunks: mine.chunks, pace: [timeText(seconds), paceOf(mine)].filter(Boolean).join(", ") });
  addToHistory(ended);
}

// follow reads a stream to its end. showProgress shows new items once a frame.
async function follow(response, mine) {
  for await (const { event, data } of serverEvents(response)) {
    if (event === "output") {
      mine.first ||= performance.now();
      mine.chunks.push(data.chunk);
    } else if (event === "log") mine.logs += data.data;
    else if (event === "metric" && data.name === "progress") mine.metrics = { progress: data.value };
    else if (event === "error") return lost(mine, data.error);
    else if (event === "completed") return data;
  }
  return lost(mine, "The stream ended before the prediction.");
}

// lost returns the result of a run whose connection broke, with the output that had arrived.
const lost = (mine, error) => ({ status: "failed", ...(mine.chunks.length ? { output: mine.chunks } : {}), error, logs: mine.logs });

// paceOf describes a stream: its number of items, the time to the first one, and the rate after it.
function paceOf({ chunks, first, began }) {
  const count = chunks.length;
  if (!count) return "";
  const word = writesText() ? "token" : "item";
  const each = (count - 1) / Math.max(0.001, (performance.now() - first) / 1000);
  const rate = count > 1 ? `, ${each < 10 ? digits(each) : groups(Math.round(each))} a second` : "";
  return `${plural(count, word)}${rate}, the first after ${timeText((first - began) / 1000)}`;
}

const WATCH_EVERY = 1000; // milliseconds
const MAX_WATCHED = 200_000; // characters of a request: its state repeats the input

// watch polls a run and shows the models that it has called; of a model without a stream also its logs, and before
// that its place in the queue.
async function watch(mine, whole) {
  for (let wait = WATCH_EVERY / 4; ; wait = WATCH_EVERY) {
    await new Promise((done) => setTimeout(done, wait));
    if (running !== mine) return;
    const state = await askCalls(mine);
    if (!whole || !state || running !== mine) continue;
    mine.place = state.queue_position;
    mine.logs = state.logs ?? "";
    mine.metrics = state.metrics;
  }
}

// askCalls fetches the state of a run and shows its calls. It returns null if the server does not have the run.
async function askCalls(mine) {
  const response = await request(`/${mine.kind}/${encodeURIComponent(mine.id)}?calls`).catch(() => null);
  const state = response?.ok ? await response.json() : null;
  if (state?.calls) Object.assign(mine, { calls: state.calls, calls_omitted: state.calls_omitted });
  return state;
}

// answerOf makes a result of a response, also of an error and of a proxy's own response.
function answerOf(response, text) {
  let answer;
  try {
    answer = parseExact(text);
  } catch {
    return { status: "refused", error: `${response.status}: the answer is not this server's JSON, but begins with: ${text.slice(0, 200)}` };
  }
  if (response.ok || (answer.id && answer.status === "failed")) return answer; // else it was refused
  if (Array.isArray(answer.detail)) {
    const place = ({ loc }) => fields.findIndex((f) => f.name === String(loc?.[2] ?? "").split("/")[0]);
    answer.detail.sort((a, b) => place(a) - place(b));
    showProblems(answer.detail);
    return { status: "refused", error: answer.detail.map((p) => `${p.loc.slice(2).join(".")}: ${p.msg}`).join("\n") };
  }
  return { status: "refused", error: `${response.status}: ${answer.error || answer.detail || "refused"}` };
}

function showProgress() {
  const mine = running;
  if (!mine) return;
  const doing = mine.place ? `Waiting, place ${mine.place} in the queue` : "Running";
  const pace = paceOf(mine);
  $("state").replaceChildren(make("span", { className: "chip blue" }, doing), ` ${((performance.now() - mine.began) / 1000).toFixed(1)} s${pace && ", " + pace}`);
  if (mine.chunks.length > mine.shown) {
    appendOutput(mine.chunks, mine.shown, mine.asText);
    mine.shown = mine.chunks.length;
    showAnswer(mine.chunks);
  }
  showCalls($("calls"), mine);
  const done = recordedDone(mine.metrics);
  if (mine.written !== mine.logs.length || mine.done !== done) {
    Object.assign(mine, { written: mine.logs.length, done });
    showLogs(mine.logs);
    showDone(mine.logs, mine.metrics);
  }
  requestAnimationFrame(showProgress);
}

// stop cancels what runs. Until the server knows of the request it answers 404, and is asked again.
async function stop() {
  const mine = running;
  while (mine && running === mine) {
    const answer = await request(`/${mine.kind}/${encodeURIComponent(mine.id)}/cancel`, { method: "POST" }).catch(() => null);
    if (answer?.status !== 404) return;
    await new Promise((done) => setTimeout(done, 50));
  }
}

// setRunning marks the buttons with aria-disabled, because a disabled button would lose the focus.
function setRunning(is) {
  $("run").setAttribute("aria-disabled", String(is));
  $("stop").setAttribute("aria-disabled", String(!is));
  $("side").setAttribute("aria-busy", String(is));
  $("progress").hidden = !is;
  if (is) $("announced").textContent = "Running";
}
