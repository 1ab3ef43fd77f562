// Running a prediction or a training, and stopping it.

let running = null; // what runs: {id, kind, input, began, chunks, shown, logs, abort}
let runs = 0;

async function run() {
  if (running || !model.document) return;
  clearProblems();
  const id = `page-${Date.now().toString(36)}-${(runs++).toString(36)}`;
  const streams = isStreaming();
  const mine = { id, kind: collection(), input: inputs(), began: performance.now(), chunks: [], shown: 0, logs: "", asText: isText() };
  running = mine;
  setRunning(true);
  clearResult();
  showProgress();
  revealResult();
  const body = JSON.stringify({ id, input: mine.input });
  if (!streams && body.length < MAX_WATCHED) watch(mine);
  let result;
  try {
    const response = await request("/" + mine.kind, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(streams ? { Accept: "text/event-stream" } : {}) },
      body,
    });
    if (response.headers.get("Content-Type")?.startsWith("text/event-stream")) result = await follow(response, mine);
    else result = answerOf(response, parseExact(await response.text()));
  } catch (error) {
    result = { status: "failed", error: String(error.message || error) };
  }
  running = null;
  setRunning(false);
  const ended = { result, seconds: (performance.now() - mine.began) / 1000, asText: mine.asText, input: mine.input, kind: mine.kind };
  showResult(ended);
  addToHistory(ended);
}

// follow reads a stream to its end. What came is shown once a frame, by showProgress.
async function follow(response, mine) {
  for await (const { event, data } of serverEvents(response)) {
    if (event === "output") mine.chunks.push(data.chunk);
    else if (event === "log") mine.logs += data.data;
    else if (event === "error") return { status: "failed", error: data.error };
    else if (event === "completed") return data;
  }
  return { status: "failed", error: "The stream ended early." };
}

const WATCH_EVERY = 1000; // milliseconds
const MAX_WATCHED = 200_000; // characters of a request: its state repeats the input

// watch shows what a model without a stream has done so far: its logs, and before that its place in the queue.
async function watch(mine) {
  for (;;) {
    await new Promise((done) => setTimeout(done, WATCH_EVERY));
    if (running !== mine) return;
    const response = await request(`/${mine.kind}/${encodeURIComponent(mine.id)}`).catch(() => null);
    if (!response?.ok || running !== mine) continue; // the server may not have the request yet
    const state = await response.json();
    mine.place = state.queue_position;
    mine.logs = state.logs ?? "";
  }
}

// answerOf makes a result of an answer, also of a refusal.
function answerOf(response, answer) {
  if (response.ok) return answer;
  if (Array.isArray(answer.detail)) {
    showProblems(answer.detail);
    return { status: "refused", error: answer.detail.map((p) => `${p.loc.slice(2).join(".")}: ${p.msg}`).join("\n") };
  }
  return { status: "refused", error: `${response.status}: ${answer.error || answer.detail || "refused"}` };
}

function showProgress() {
  if (!running) return;
  const seconds = (performance.now() - running.began) / 1000;
  const count = running.chunks.length;
  const rate = count ? `, ${plural(count, "item")}, ${groups(Math.round(count / Math.max(0.1, seconds)))} a second` : "";
  const doing = running.place ? `Waiting, place ${running.place} in the queue` : "Running";
  $("state").replaceChildren(make("span", { className: "chip blue" }, doing), ` ${seconds.toFixed(1)} s${rate}`);
  if (count > running.shown) {
    appendOutput(running.chunks, running.shown, running.asText);
    running.shown = count;
  }
  if ($("logs").textContent.length < running.logs.length) showLogs(running.logs);
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

// setRunning marks the buttons. They keep the focus, which one that is disabled would lose.
function setRunning(is) {
  $("run").setAttribute("aria-disabled", String(is));
  $("stop").setAttribute("aria-disabled", String(!is));
  $("result").setAttribute("aria-busy", String(is));
  $("progress").hidden = !is;
  if (is) $("announced").textContent = "Running";
}

const MAX_HISTORY = 20;

function addToHistory(ended) {
  const { result, input } = ended;
  const shown = JSON.stringify(input, (key, v) => (v instanceof Secret ? "**********" : v instanceof LocalFile ? v.name : v));
  const words = `${new Date().toLocaleTimeString()} ${result.status} ${shown}`;
  const again = make("button", { type: "button", className: "plain " + result.status }, words.length > 100 ? words.slice(0, 100) + "…" : words);
  again.addEventListener("click", () => {
    if (running) return;
    if (ended.kind === collection()) {
      buildForm();
      setInputs(input);
      formChanged();
    }
    showResult(ended);
    revealResult();
  });
  $("history").prepend(make("li", {}, again));
  $("history").children[MAX_HISTORY]?.remove();
  $("history-box").hidden = false;
}
