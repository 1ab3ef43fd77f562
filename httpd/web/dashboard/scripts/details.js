// The details of one prediction: the parts of its time, its error, logs and trace. While it is in flight they are polled.

async function toggleDetails(row) {
  const same = list.opened === row;
  closeDetails();
  if (same) return;
  list.opened = row;
  window.history.replaceState(null, "", `#${new URLSearchParams({ [row.prediction.kind]: row.prediction.id })}`); // to be shared
  row.querySelector(".id").setAttribute("aria-expanded", "true");
  const cell = make("td", { colSpan: 6, className: "block" }, make("p", { className: "help" }, "Loading …"));
  row.after(make("tr", { className: "detail-row" }, cell));
  const { answer, problem } = await askPrediction(row.prediction);
  if (list.opened !== row) return;
  const box = make("div", { className: "detail" }, ...(problem ? [problem] : [make("div"), make("div")]));
  cell.replaceChildren(box);
  if (!problem) showDetails(box, row, answer);
}

// askPrediction asks for the details of a prediction: {answer, status} or {problem, status}.
async function askPrediction({ kind, id }) {
  try {
    const response = await request(`/dashboard/prediction?${new URLSearchParams({ kind, id })}`);
    const answer = await response.json(), { ok, status } = response;
    return ok ? { answer, status } : { problem: `${answer.detail}.`, status };
  } catch {
    return { problem: "The server cannot be reached.", status: 0 };
  }
}

// rowOf is a prediction as the list has it, with the first line of its error.
const rowOf = (answer) => ({ ...answer, error: answer.error?.split("\n", 1)[0].slice(0, 200) });

let refreshing = false;

// refreshDetails updates the opened prediction until it has ended.
async function refreshDetails() {
  const row = list.opened, box = document.querySelector(".detail-row .detail");
  if (refreshing || !box?.firstElementChild || !row || row.prediction.ended) return;
  refreshing = true;
  const { answer, status } = await askPrediction(row.prediction);
  refreshing = false;
  if (list.opened !== row || !box.isConnected) return;
  if (answer) showDetails(box, row, answer);
  else if (status === 404) fillRow(row, { ...row.prediction, ended: view.at, status: "ended" }, view.at); // and was not kept
}

function closeDetails() {
  if (!list.opened) return;
  list.opened.querySelector(".id").setAttribute("aria-expanded", "false");
  window.history.replaceState(null, "", location.pathname + location.search);
  document.querySelectorAll(".detail-row").forEach((row) => row.remove());
  list.opened = null;
}

// showDetails shows a prediction in its box, and in the row above. What stays as it was keeps the focus and what is selected.
function showDetails(box, row, answer) {
  if (answer.ended && !row.prediction.ended) fillRow(row, rowOf(answer), view.at, answer.total);
  const [left, right] = box.children;
  const facts = factsOf(answer), text = JSON.stringify([facts, answer.metrics, answer.total]);
  if (left.shown !== text) left.replaceChildren(...figuresOf(answer, facts));
  left.shown = text;
  showBlocks(right, blocksOf(answer));
}

const factsOf = (p) =>
  [["Id", p.id], ["Request", `${p.kind}, ${p.mode}`], ["Created", timeOf(p.created)], ["Started", timeOf(p.started ?? p.running)], ["Ended", timeOf(p.ended)], ["Place", p.position ? `${groups(p.position)} in the queue` : ""]].filter(([, v]) => v);

// figuresOf are the times and metrics of a prediction.
function figuresOf(p, facts) {
  const rows = make("dl", {}, ...facts.flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, v)]));
  if (p.trace) rows.append(make("dt", {}, "Trace"), make("dd", {}, traceOf(p.trace)));
  const found = [rows];
  if (p.total) {
    const parts = PARTS.filter(([name]) => name !== "files" || p.files > 0);
    found.push(barOf(parts.map(([name, , color]) => [color, p[name]])), legendOf([...parts.map(([name, word, color]) => [color, word, timeText(p[name])]), ["none", "Total", timeText(p.total)]]));
  }
  const done = p.ended ? undefined : recordedDone(p.metrics);
  if (done !== undefined) found.push(make("p", {}, make("progress", { max: 100, value: done, "aria-label": "Progress" }), ` ${done} %`));
  for (const [name, value] of Object.entries(p.metrics ?? {})) {
    if (name !== "predict_time") rows.append(make("dt", {}, name), make("dd", {}, JSON.stringify(value)));
  }
  return found;
}

// blocksOf are the texts of a prediction, in their order: [key, make, show], where show brings what make has made up to date.
function blocksOf(p) {
  const blocks = [["calls", () => make("div", { className: "called", hidden: true }, make("h3", {}, "Calls of other models")), (box) => showCalls(box, p)]];
  const block = (key, title, text) => blocks.push([key, () => make("div", {}, make("h3"), make("pre", { tabIndex: 0, "aria-label": title })), (box) => showText(box, title, text)]);
  const note = (key, text) => blocks.push([key, () => make("p", { className: "help" }), (box) => set(box, text)]);
  if (p.error) block("error", "Error", p.error);
  if (p.logs) block("logs", p.cut ? `Logs, the last ${bytesText(p.logs.length)}` : "Logs", written(p.logs));
  else note("no logs", p.partial ? "The server no longer has its logs." : "It has written nothing to its logs.");
  if (!p.ended && view.hello.docs) blocks.push(["cancel", () => make("div", {}, cancelButton(p)), () => {}]);
  if (!p.ended && !p.position && view.hello.docs) blocks.push(["stack", () => stackOfDetails(p), () => {}]);
  for (const name of ["input", "output"]) {
    const title = name.charAt(0).toUpperCase() + name.slice(1);
    if (p[name] !== undefined) block(name, title, JSON.stringify(p[name], null, 2));
    else if (p.omitted?.[name]) note(name, `${title}: ${bytesText(p.omitted[name])}, too large to be shown here`);
  }
  if (!view.hello.content) blocks.push(["content", () => make("p", { className: "help" }, "Inputs and outputs are shown with ", make("code", {}, "--dashboard-content"), "."), () => {}]);
  return blocks;
}

// showBlocks makes blocks, brings those that are there up to date, and removes those that are no more.
function showBlocks(box, blocks) {
  const there = new Map([...box.children].map((element) => [element.dataset.block, element]));
  let next = box.firstElementChild;
  for (const [key, create, show] of blocks) {
    let element = there.get(key);
    if (element) next = element.nextElementSibling;
    else {
      element = create();
      element.dataset.block = key;
      box.insertBefore(element, next);
    }
    there.delete(key);
    show(element);
  }
  for (const element of there.values()) {
    if (element.dataset.block === "stack" && element.querySelector("pre")) continue; // the reader asked for that one
    if (element.contains(document.activeElement)) list.opened.querySelector(".id").focus();
    element.remove();
  }
}

// showText shows a title and a text below it, of which it keeps the end in view, unless the reader has scrolled up.
function showText(box, title, text) {
  const [head, body] = box.children;
  set(head, title);
  if (body.textContent === text) return;
  const atEnd = body.textContent && body.scrollHeight - body.scrollTop - body.clientHeight < 8;
  body.textContent = text;
  if (atEnd) body.scrollTop = body.scrollHeight;
}

// stackOfDetails is a button that shows the Python stack of a prediction, each time of that moment.
function stackOfDetails(p) {
  const button = make("button", { type: "button", className: "plain" }, "Python stack");
  const box = make("div", {}, button);
  button.addEventListener("click", async () => {
    const text = await stackOf(p);
    if (!box.querySelector("pre")) box.append(make("pre", { tabIndex: 0, "aria-label": "Python stack" }));
    box.querySelector("pre").textContent = text;
  });
  return box;
}

const timeOf = (milliseconds) => (milliseconds ? new Date(milliseconds).toLocaleString([], { hour12: false }) : "");

// traceOf is a trace's id, with a link where the operator has named the tracing system.
function traceOf(id) {
  if (!view.hello.trace_url) return make("code", {}, id);
  return make("a", { href: view.hello.trace_url.replaceAll("{trace_id}", id), target: "_blank", rel: "noreferrer" }, id);
}
