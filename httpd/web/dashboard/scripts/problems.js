// What is wrong, in words: the first thing to read.

const MORE_ROOM = "More --workers end them sooner, and a longer --queue has more room.";

// problemsOf lists {look, title, text, logs}.
function problemsOf(state, recent, at) {
  const found = [];
  const add = (look, title, text = "", logs = "", more = {}) => found.push({ look, title, text, logs, ...more });
  const crashed = state.workers.findLast((w) => w.last_exit)?.last_exit ?? "";
  if (state.stopping) add("busy", "The server is stopping.", "It takes no new predictions and waits for those in flight.");
  const logs = written(state.setup.logs ?? "");
  if (state.status === "SETUP_FAILED") add("bad", "The model's setup failed.", lastLineOf(logs), logs);
  if (state.status === "DEFUNCT") add("bad", "No worker is left.", crashed);
  if (state.status === "STARTING" && !state.stopping) addSetup(add, state.setup.started, logs, crashed, at);
  if (state.model_error) add("bad", "The model's own health check fails.", state.model_error);
  state.workers.forEach((worker, i) => {
    if (!worker.last_exit || at - worker.exited_at > RECENT_EXIT || ["DEFUNCT", "SETUP_FAILED"].includes(state.status)) return;
    const now = worker.state === "ready" ? "It was replaced" : "It is being replaced";
    const more = / running a prediction/.test(worker.last_exit) ? " The prediction's logs may say more." : "";
    add(worker.state === "ready" ? "busy" : "bad", `Worker ${i} ended ${agoText(worker.exited_at, at)}.`, `${sentence(worker.last_exit)}${more} ${now}; restarts: ${worker.restarts}.`);
  });
  const queued = latest()?.[column("queued")] ?? 0;
  const turnedAway = recent.reasons?.capacity ?? 0;
  if (state.capacity > 0 && queued >= state.capacity) {
    add("bad", "The queue is full.", `${groups(queued)} of ${groups(state.capacity)} wait; ${groups(turnedAway)} were refused in the last minute. ${MORE_ROOM}`);
  } else if (turnedAway > 0) {
    const why = state.capacity > 0 ? `the queue was full. ${MORE_ROOM}` : "every slot was busy, and there is no queue (--queue).";
    add("busy", `${plural(turnedAway, "prediction")} refused in the last minute:`, why);
  }
  const tried = recent.succeeded + recent.failed;
  if (recent.failed >= 3 && recent.failed > 0.05 * tried) {
    const reasons = Object.entries(recent.reasons).filter(([r]) => !["capacity", "validation", "unavailable"].includes(r));
    add("bad", `${shareText(recent.failed / tried)} of the predictions failed in the last minute:`, `${reasons.map(([r, n]) => `${groups(n)} × ${REASONS[r] ?? r}`).join(", ")}. Their errors and logs are below, under Failed.`);
  }
  for (const stuck of stuckOf(at)) add("bad", stuck.title, stuck.text, "", { stuck: stuck.prediction, stack: stacks.get(stuck.prediction.id) });
  const { retrying, retried, lost } = state.webhooks;
  const last = (failure) => (failure ? `The last one, at ${stopped(failure)}` : "");
  if (recent.webhooks > 0) add("bad", `${plural(recent.webhooks, "webhook")} lost in the last minute.`, `${last(lost)} The server's log names each.`.trim());
  if (retrying > 0) add("busy", `${plural(retrying, "webhook")} not delivered yet, and tried again.`, last(retried));
  if (state.memory.limit && state.memory.used > 0.9 * state.memory.limit) {
    add("busy", "The memory budget is nearly used up.", `${bytesText(state.memory.used)} of ${bytesText(state.memory.limit)} (--memory-budget).`);
  }
  return found;
}

// addSetup shows how long the setup has run, its last line, and its progress if that line has it.
function addSetup(add, started, logs, crashed, at) {
  const line = lastLineOf(logs);
  const seconds = started ? Math.floor((at - started) / 1000) : 0;
  const time = seconds > 0 ? `For ${timeText(seconds)}. ` : "";
  add("busy", "The model is being set up.", crashed || time + (line || "Predictions are refused until it is."), logs, { done: doneOf(line) });
}

const STUCK = 10; // times p99, and seconds at least, after which a prediction counts as stuck

// stuckOf are predictions that run for much longer than the others did: [{title, text, prediction}].
function stuckOf(at) {
  const p99 = view.usual;
  if (p99 === null) return []; // none has succeeded, so the usual time is not known
  const isStuck = (p) => p.running && p.kind === "prediction" && (at - p.running) / 1000 > Math.max(STUCK, STUCK * p99);
  return (list.all?.in_flight ?? []).filter(isStuck).slice(0, 3).map(({ id, kind, running, worker = 0 }) => {
    const seconds = Math.floor((at - running) / 10_000) * 10; // the sentence changes every ten seconds
    return { title: `Worker ${worker} seems stuck.`, text: `It has run ${id} for ${timeText(seconds)}; p99 is ${timeText(p99)}.`, prediction: { kind, id } };
  });
}

// cancelButton cancels a prediction by the API, which asks for the token where there is one.
function cancelButton({ kind, id }) {
  const button = make("button", { type: "button", className: "plain", "aria-label": `Cancel ${id}` }, "Cancel");
  button.addEventListener("click", async () => {
    const answer = await request(`/${kind}s/${encodeURIComponent(id)}/cancel`, { method: "POST" }).catch(() => null);
    const why = { 401: "the server requires a token", 404: "it has ended" }[answer?.status] ?? answer?.status ?? "the server cannot be reached";
    button.textContent = $("announced").textContent = answer?.ok ? "Canceled" : `Not canceled: ${why}`;
  });
  return button;
}

const stacks = new Map(); // of predictions that seem stuck, by their ids: their stacks when the reader asked

// stackOf fetches a prediction's Python stack, or why there is none.
async function stackOf({ kind, id }) {
  try {
    const response = await request(`/dashboard/stack?${new URLSearchParams({ kind, id })}`, { method: "POST" });
    const { stack, detail } = await response.json();
    return stack ?? detail;
  } catch {
    return "The server cannot be reached.";
  }
}

function stackButton(prediction) {
  const button = make("button", { type: "button", className: "plain", "aria-label": `Python stack of ${prediction.id}` }, "Python stack");
  button.addEventListener("click", async () => {
    button.textContent = "Asking …";
    stacks.set(prediction.id, await stackOf(prediction));
    render();
  });
  return button;
}

const RECENT_EXIT = 120_000; // milliseconds for which a worker's end is a problem
const stopped = (text) => text + (/[.!?]$/.test(text) ? "" : ".");
const sentence = (text) => text.charAt(0).toUpperCase() + stopped(text.slice(1));

let shownProblems = "";

// showProblems changes nothing if the problems are the same, so that opened logs stay open.
function showProblems(found) {
  const text = JSON.stringify(found);
  if (text === shownProblems) return;
  const open = $("problems").querySelector("details")?.open ?? true;
  const focused = document.activeElement?.closest("#problems button")?.ariaLabel;
  const news = found.map((p) => `${p.title} ${p.text}`).filter((_, i) => !shownProblems.includes(JSON.stringify(found[i].title)));
  if (news.length) $("announced").textContent = news.join(" ");
  shownProblems = text;
  $("problems").replaceChildren(
    ...found.map((p) => {
      const box = problemBox(p);
      if (p.done !== undefined) box.append(make("progress", { max: 100, value: p.done, "aria-label": "Progress of the setup" }));
      if (p.stuck && view.hello.docs) box.append(stackButton(p.stuck), cancelButton(p.stuck));
      if (p.stack) box.append(make("pre", { tabIndex: 0, "aria-label": "Python stack" }, p.stack));
      if (p.logs) box.append(make("details", { open }, make("summary", {}, "Logs of the setup"), make("pre", { tabIndex: 0 }, p.logs)));
      return box;
    }),
  );
  for (const pre of $("problems").querySelectorAll("details pre")) pre.scrollTop = pre.scrollHeight; // the error is at the end
  if (focused) [...$("problems").querySelectorAll("button")].find((b) => b.ariaLabel === focused)?.focus();
}
