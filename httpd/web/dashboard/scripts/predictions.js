// The list of predictions. It stands still while one is open, or while the keyboard is in it.

const list = { name: "ended", opened: null, all: null, found: null, shown: [], whole: false }; // found are those that match, shown some of them

const FEW = 25; // predictions that are shown until the reader asks for all

const MOST = 100; // predictions that each list has

const keyOf = (p) => `${p.kind} ${p.id} ${p.ended ?? ""}`;
const isFrozen = () => list.opened !== null || view.paused || $("list").contains(document.activeElement);

function showPredictions(at) {
  for (const button of document.querySelectorAll("[data-list]")) {
    const listed = list.all?.[button.dataset.list]?.length ?? 0;
    const n = button.dataset.list === "in_flight" && listed >= MOST ? Math.max(listed, latest()?.[column("in_flight")] ?? 0) : listed;
    const count = button.querySelector("span");
    if (count) set(count, n ? groups(n) : "");
  }
  if (!list.all) return;
  showGroups();
  const deep = list.name === "deep";
  const wanted = $("search").value.trim().toLowerCase();
  $("deep-box").hidden = !wanted;
  const found = deep ? list.deep : list.all[list.name].filter((p) => !wanted || `${p.id} ${p.error ?? ""} ${p.trace ?? ""}`.toLowerCase().includes(wanted));
  if (list.found && isFrozen()) {
    const before = new Set(list.found.map(keyOf));
    const fresh = found.filter((p) => !before.has(keyOf(p))).length;
    $("newest").hidden = !fresh;
    set($("newest"), `Show ${fresh === MOST ? "100 or more" : fresh} newer`);
    showAges(at);
    return;
  }
  $("newest").hidden = true;
  list.found = found;
  list.shown = list.whole ? found : found.slice(0, FEW);
  $("more").hidden = found.length <= FEW;
  set($("all"), list.whole ? `Show ${FEW}` : `Show all ${found.length}`);
  if (!list.shown.length) {
    $("list").replaceChildren(emptyList(wanted));
    return;
  }
  fillTable(at);
}

// showGroups counts the failures by their exception. A group's button shows its predictions.
function showGroups() {
  const counts = new Map(); // a Map, because models choose the names: "constructor" may be one
  for (const p of list.name === "failed" ? (list.all?.failed ?? []) : []) {
    const name = exceptionOf(p.error);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const found = [...counts].sort(([, a], [, b]) => b - a).slice(0, 8);
  const wanted = $("search").value;
  const text = JSON.stringify([found, wanted]);
  if ($("groups").shown === text) return;
  $("groups").shown = text;
  $("groups").hidden = !found.length;
  $("groups").replaceChildren(...found.map(([name, count]) => {
    const button = make("button", { type: "button", className: "plain", "aria-pressed": String(wanted === name) }, `${groups(count)} × ${name}`);
    button.addEventListener("click", () => {
      $("search").value = wanted === name ? "" : name;
      chooseList("failed");
      [...$("groups").children].find((other) => other.textContent === button.textContent)?.focus();
    });
    return button;
  }));
}

// exceptionOf is the exception's name in an error, else its beginning.
function exceptionOf(error = "") {
  const name = /^[\w.]+(?=:|$)/.exec(error)?.[0];
  return name ?? (error.length > 60 ? error.slice(0, 60) : error || "without an error");
}

function emptyList(wanted) {
  if (wanted) return make("p", { className: "empty" }, "None of these matches.");
  if (list.name === "failed") return make("p", { className: "empty" }, "None has failed.");
  if (list.name === "in_flight") return make("p", { className: "empty" }, "None is in flight.");
  if (view.hello.keep === 0) return make("p", { className: "empty" }, "This server keeps no ended predictions (--result-ttl 0).");
  const some = view.ended && view.ended.succeeded + view.ended.failed + view.ended.canceled;
  if (some) return make("p", { className: "empty" }, `The server keeps ended predictions for ${timeText(view.hello.keep)} (--result-ttl); none ended in that time.`);
  const words = "No prediction yet. The first one appears here as it ends.";
  const code = `curl ${serverURL("/predictions")} -H 'Content-Type: application/json' -d '{"input": {}}'`;
  return make("div", { className: "empty" }, words, ...(view.hello.docs ? [make("pre", { tabIndex: 0 }, code)] : []));
}

// fillTable reuses the rows that are there: a thousand predictions a second change each row every second.
function fillTable(at) {
  let body = $("list").querySelector("tbody");
  if (!body) {
    const head = make("tr", {}, ...["Status", "Prediction", "When", "Queue, model, server", "Total", "Error"].map((h) => make("th", { scope: "col", className: h === "Total" ? "right" : "" }, h)));
    body = make("tbody");
    $("list").replaceChildren(make("table", {}, make("thead", {}, head), body));
  }
  body.querySelectorAll(".detail-row").forEach((row) => row.remove());
  while (body.rows.length > list.shown.length) body.lastChild.remove();
  while (body.rows.length < list.shown.length) body.append(emptyRow());
  const longest = Math.max(...list.shown.map((p) => p.total ?? 0));
  list.shown.forEach((p, i) => fillRow(body.rows[i], p, at, longest));
}

function emptyRow() {
  const id = make("button", { type: "button", className: "id", "aria-expanded": "false" });
  const row = make(
    "tr", {}, make("td", {}, make("span", { className: "chip" })), make("td", {}, id), make("td", { className: "when number" }),
    make("td", { className: "block" }), make("td", { className: "right number", "data-name": "Total" }), make("td", { className: "wide block row-error" }),
  );
  id.addEventListener("click", () => toggleDetails(row));
  return row;
}

// trackOf shows the parts of a prediction's time, at the scale of the longest one in the list.
function trackOf(p, longest) {
  const bar = barOf(PARTS.map(([name, , color]) => [color, p[name]]));
  bar.style.width = `${Math.max(4, (100 * p.total) / longest)}%`;
  return make("div", { className: "track" }, bar);
}

function fillRow(row, p, at, longest) {
  const [status, id, when, bar, total, error] = row.cells;
  row.prediction = p;
  set(status.firstChild, p.status);
  status.firstChild.className = `chip ${LOOKS[p.status] ?? ""}`;
  set(id.firstChild, p.kind === "training" ? `${p.id} (training)` : p.id);
  set(when, whenText(p, at));
  bar.replaceChildren(...(p.total ? [trackOf(p, longest)] : []));
  set(total, totalText(p, at));
  set(error, p.error ?? "");
}

const totalText = (p, at) => (p.ended ? timeText(p.total) : timeText((at - p.created) / 1000));

function whenText(p, at) {
  if (p.ended) return agoText(p.ended, at);
  if (p.position) return `place ${groups(p.position)} in the queue`;
  const where = p.running && view.state.workers.length > 1 ? `on worker ${p.worker ?? 0} ` : "";
  return `${where}since ${clockText(p.running ?? p.created)}`;
}

function showAges(at) {
  for (const row of $("list").querySelectorAll("tr")) {
    if (!row.prediction) continue;
    set(row.cells[2], whenText(row.prediction, at));
    set(row.cells[4], totalText(row.prediction, at));
  }
}

// searchAll lists what matches of all ended predictions that the server keeps.
async function searchAll() {
  const wanted = $("search").value.trim();
  let answer = {}, problem = "";
  set($("deep-text"), "Searching …");
  try {
    const response = await request(`/dashboard/search?${new URLSearchParams({ q: wanted })}`);
    answer = await response.json();
    if (!response.ok) problem = answer.detail;
  } catch {
    problem = "The server cannot be reached.";
  }
  if ($("search").value.trim() !== wanted) return; // the text has changed meanwhile
  if (!problem) {
    list.deep = answer.found;
    chooseList("deep");
  }
  const n = answer.found?.length;
  set($("deep-text"), problem || `${n === answer.most ? `The last ${n} that match` : `${groups(n)} match`}, of ${groups(answer.searched)} ended predictions that the server still has: ${view.hello.keep ? `those of the last ${timeText(view.hello.keep)} (--result-ttl), at most 10 000 with an id or webhook and 500 others, and ` : ""}the last 100 failures.`);
}

let named = true; // the address may name a prediction that is to be opened

// openNamed opens the prediction that the address names, as #prediction=ID, once.
async function openNamed() {
  if (!named) return;
  named = false;
  const [kind, id] = [...new URLSearchParams(location.hash.slice(1))][0] ?? [];
  if (!id || !["prediction", "training"].includes(kind)) return;
  const { answer, problem } = await askPrediction({ kind, id });
  $("search").value = id;
  list.deep = answer ? [rowOf(answer)] : [];
  chooseList("deep");
  set($("deep-text"), problem ?? "");
  const row = $("list").querySelector("tbody tr");
  if (!row) return;
  row.scrollIntoView({ block: "center" });
  await toggleDetails(row);
}

function chooseList(name) {
  closeDetails();
  set($("deep-text"), "");
  list.whole &&= list.name === name;
  list.name = name;
  list.found = null;
  for (const other of document.querySelectorAll("[data-list]")) other.setAttribute("aria-pressed", String(other.dataset.list === name));
  showPredictions(view.at);
}
