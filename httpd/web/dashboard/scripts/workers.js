// The workers, one row each.

const MAX_SLOTS = 16; // that are drawn one by one

const WORKER_COLUMNS = ["Worker", "State", "Busy", "For", "Memory", "GPU", "Served", "Restarts", "Last exit"];

function showWorkers(state, at) {
  if (!state.workers.length) {
    $("workers").replaceChildren(make("p", { className: "empty" }, state.status === "UNLOADED" ? "The model is not loaded." : "No worker yet."));
    return;
  }
  const columns = WORKER_COLUMNS.filter((c) => c !== "GPU" || state.workers.some((w) => w.device));
  const slots = Math.max(1, Math.round(state.slots / Math.max(1, state.workers.filter((w) => w.state === "ready").length)));
  const head = make("tr", {}, ...columns.map((c) => make("th", { scope: "col" }, c)));
  const rows = state.workers.map((worker, i) => {
    const cells = workerCells(worker, i, slots, at);
    return make("tr", {}, ...columns.map((c) => make("td", { className: c === "Last exit" ? "exit block" : "number", "data-name": NAMED.includes(c) ? c : "" }, ...cells[c])));
  });
  $("workers").replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}

const NAMED = ["Worker", "For", "Memory", "GPU", "Served", "Restarts", "Last exit"]; // on a narrow screen

function workerCells(w, i, slots, at) {
  return {
    Worker: [make("strong", {}, String(i)), ...(w.pid ? [make("span", { className: "help" }, ` pid ${w.pid}`)] : []), ...(w.ranks || []).map(rankLine)],
    State: [chipOf(w.state, w.successor ? `${w.state}, successor ${w.successor}` : w.state)],
    Busy: ["ready", "draining"].includes(w.state) ? busyCell(w.busy, slots) : [],
    For: w.busy_since ? [timeText(Math.max(0, at - w.busy_since) / 1000)] : [],
    Memory: w.memory ? [bytesText(w.memory)] : [],
    GPU: w.device ? [w.device] : [],
    Served: [groups(w.served)],
    Restarts: [groups(w.restarts)],
    "Last exit": w.last_exit ? [make("strong", {}, agoText(w.exited_at, at)), `, ${w.last_exit}`] : [],
  };
}

function rankLine(r, i) {
  const words = [`rank ${i} pid ${r.pid}`, r.memory ? bytesText(r.memory) : "", r.device ? `GPU ${r.device}` : ""];
  return make("div", { className: "help" }, words.filter(Boolean).join(", "));
}

function busyCell(busy, slots) {
  if (slots > MAX_SLOTS) return [`${busy} of ${slots}`];
  const boxes = Array.from({ length: slots }, (_, i) => make("i", { className: i < busy ? "on" : "" }));
  return [make("span", { className: "slots", "aria-hidden": "true" }, ...boxes), `${busy} of ${slots}`];
}
