// One prediction, opened: where its time went, its error, its logs, its trace.

async function toggleDetails(row) {
  const same = list.opened === row;
  closeDetails();
  if (same) return;
  list.opened = row;
  row.querySelector(".id").setAttribute("aria-expanded", "true");
  const cell = make("td", { colSpan: 6, className: "block" }, make("p", { className: "help" }, "Loading …"));
  row.after(make("tr", { className: "detail-row" }, cell));
  const { kind, id } = row.prediction;
  let answer = null, problem = "";
  try {
    const response = await request(`/dashboard/prediction?${new URLSearchParams({ kind, id })}`);
    answer = await response.json();
    if (!response.ok) problem = answer.detail;
  } catch {
    problem = "The server cannot be reached.";
  }
  if (list.opened === row) cell.replaceChildren(problem ? make("div", { className: "detail" }, problem) : detailsOf({ ...row.prediction, ...answer }));
}

// refreshCalls keeps the calls of the opened prediction as they are now, until it has ended. A server of one model has none.
async function refreshCalls() {
  const row = list.opened, { kind, id } = row?.prediction ?? {};
  const box = document.querySelector(".detail-row .called");
  if (!box || box.settled || !view.state.models) return;
  const response = await request(`/dashboard/prediction?${new URLSearchParams({ kind, id })}`).catch(() => null);
  if (!response?.ok) return;
  const now = await response.json();
  if (list.opened !== row) return;
  box.settled = Boolean(now.ended);
  showCalls(box, now);
}

function closeDetails() {
  list.opened?.querySelector(".id").setAttribute("aria-expanded", "false");
  document.querySelectorAll(".detail-row").forEach((row) => row.remove());
  list.opened = null;
}

function detailsOf(p) {
  const facts = [["Id", p.id], ["Request", `${p.kind}, ${p.mode}`], ["Created", timeOf(p.created)], ["Started", timeOf(p.started)], ["Ended", timeOf(p.ended)]];
  const left = make("div", {}, make("dl", {}, ...facts.filter(([, v]) => v).flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, v)])));
  if (p.trace) left.querySelector("dl").append(make("dt", {}, "Trace"), make("dd", {}, traceOf(p.trace)));
  if (p.total) {
    const parts = PARTS.filter(([name]) => name !== "files" || p.files > 0);
    left.append(barOf(parts.map(([name, , color]) => [color, p[name]])), legendOf([...parts.map(([name, word, color]) => [color, word, timeText(p[name])]), ["none", "Total", timeText(p.total)]]));
  }
  for (const [name, value] of Object.entries(p.metrics ?? {})) {
    if (name !== "predict_time") left.querySelector("dl").append(make("dt", {}, name), make("dd", {}, JSON.stringify(value)));
  }
  const right = make("div");
  const calls = make("div", { className: "called", hidden: true }, make("h3", {}, "Calls of other models"));
  showCalls(calls, p);
  right.append(calls);
  const block = (title, text) => right.append(make("h3", {}, title), make("pre", { tabIndex: 0, "aria-label": title }, text));
  if (p.error) block("Error", p.error);
  if (p.logs) block(p.cut ? `Logs, the last ${bytesText(p.logs.length)}` : "Logs", p.logs);
  else right.append(make("p", { className: "help" }, p.partial ? "The server no longer has its logs." : "It has written nothing to its logs."));
  if (!p.ended && !p.position && view.hello.docs) {
    const button = make("button", { type: "button", className: "plain" }, "Python stack");
    button.addEventListener("click", async () => {
      const text = await stackOf(p);
      button.replaceWith(make("h3", {}, "Python stack"), make("pre", { tabIndex: 0, "aria-label": "Python stack" }, text));
    });
    right.append(button);
  }
  for (const name of ["input", "output"]) {
    const title = name.charAt(0).toUpperCase() + name.slice(1);
    if (p[name] !== undefined) block(title, JSON.stringify(p[name], null, 2));
    else if (p.omitted?.[name]) right.append(make("p", { className: "help" }, `${title}: ${bytesText(p.omitted[name])}, too large to be shown here`));
  }
  if (!view.hello.content) right.append(make("p", { className: "help" }, "Inputs and outputs are shown with --dashboard-content."));
  return make("div", { className: "detail" }, left, right);
}

const timeOf = (milliseconds) => (milliseconds ? new Date(milliseconds).toLocaleString([], { hour12: false }) : "");

// traceOf is a trace's id, with a link where the operator has named the tracing system.
function traceOf(id) {
  if (!view.hello.trace_url) return make("code", {}, id);
  return make("a", { href: view.hello.trace_url.replaceAll("{trace_id}", id), target: "_blank", rel: "noreferrer" }, id);
}
