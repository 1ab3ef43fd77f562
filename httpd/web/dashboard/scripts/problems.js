// What is wrong, in words: the first thing to read.

// problemsOf lists [look, title, text, logs].
function problemsOf(state, recent, at) {
  const found = [];
  const add = (look, title, text = "", logs = "") => found.push({ look, title, text, logs });
  const crashed = state.workers.findLast((w) => w.last_exit)?.last_exit ?? "";
  if (state.stopping) add("busy", "The server is stopping.", "It takes no new predictions and waits for those in flight.");
  if (state.status === "SETUP_FAILED") add("bad", "The model's setup failed.", lastLine(state.setup.logs), state.setup.logs);
  if (state.status === "DEFUNCT") add("bad", "No worker is left.", crashed);
  if (state.status === "STARTING" && !state.stopping) add("busy", "The model is being set up.", crashed || "Predictions are refused until it is.");
  if (state.model_error) add("bad", "The model's own health check fails.", state.model_error);
  state.workers.forEach((worker, i) => {
    if (!worker.last_exit || at - worker.exited_at > RECENT_EXIT || ["DEFUNCT", "SETUP_FAILED"].includes(state.status)) return;
    const now = worker.state === "ready" ? "It was replaced" : "It is being replaced";
    add(worker.state === "ready" ? "busy" : "bad", `Worker ${i} ended ${agoText(worker.exited_at, at)}.`, `${sentence(worker.last_exit)} ${now}; restarts: ${worker.restarts}.`);
  });
  const queued = latest()?.[column("queued")] ?? 0;
  const turnedAway = recent.reasons?.capacity ?? 0;
  if (state.capacity > 0 && queued >= state.capacity) {
    add("bad", "The queue is full.", `${groups(queued)} of ${groups(state.capacity)} wait; ${groups(turnedAway)} were refused in the last minute.`);
  } else if (turnedAway > 0) {
    const why = state.capacity > 0 ? "the queue was full" : "every slot was busy, and there is no queue (--queue)";
    add("busy", `${plural(turnedAway, "prediction")} refused in the last minute:`, `${why}.`);
  }
  const tried = recent.succeeded + recent.failed;
  if (recent.failed >= 3 && recent.failed > 0.05 * tried) {
    const reasons = Object.entries(recent.reasons).filter(([r]) => !["capacity", "validation", "unavailable"].includes(r));
    add("bad", `${shareText(recent.failed / tried)} of the predictions failed in the last minute:`, `${reasons.map(([r, n]) => `${groups(n)} × ${REASONS[r] ?? r}`).join(", ")}.`);
  }
  const { retrying, retried, lost } = state.webhooks;
  const last = (failure) => (failure ? `The last one, at ${stopped(failure)}` : "");
  if (recent.webhooks > 0) add("bad", `${plural(recent.webhooks, "webhook")} lost in the last minute.`, `${last(lost)} The server's log names each.`.trim());
  if (retrying > 0) add("busy", `${plural(retrying, "webhook")} not delivered yet, and tried again.`, last(retried));
  if (state.memory.limit && state.memory.used > 0.9 * state.memory.limit) {
    add("busy", "The memory budget is nearly used up.", `${bytesText(state.memory.used)} of ${bytesText(state.memory.limit)} (--memory-budget).`);
  }
  return found;
}

const RECENT_EXIT = 120_000; // milliseconds for which a worker's end is a problem
const stopped = (text) => text + (/[.!?]$/.test(text) ? "" : ".");
const sentence = (text) => text.charAt(0).toUpperCase() + stopped(text.slice(1));
const lastLine = (logs) => (logs ?? "").trim().split("\n").pop();

let shownProblems = "";

// showProblems leaves what is there alone where nothing has changed, so that opened logs stay open.
function showProblems(found) {
  const text = JSON.stringify(found);
  if (text === shownProblems) return;
  const open = $("problems").querySelector("details")?.open ?? true;
  const news = found.map((p) => `${p.title} ${p.text}`).filter((_, i) => !shownProblems.includes(JSON.stringify(found[i].title)));
  if (news.length) $("announced").textContent = news.join(" ");
  shownProblems = text;
  $("problems").replaceChildren(
    ...found.map((p) => {
      const box = make("div", { className: `problem ${p.look}` }, make("p", {}, make("strong", {}, p.title), " ", p.text));
      if (p.logs) box.append(make("details", { open }, make("summary", {}, "Logs of the setup"), make("pre", { tabIndex: 0 }, p.logs)));
      return box;
    }),
  );
}
