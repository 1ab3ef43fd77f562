// The predictions of other models that a prediction asked for, as a tree.

const MAX_ALIKE = 5; // calls of one model in one state that are shown one by one

// callsOf is the tree of {calls, calls_omitted}; null means there are none. open has the keys of the lines that are unfolded; those of
// this tree begin with a path.
function callsOf({ calls = [], calls_omitted: omitted = 0 }, open, path) {
  if (!calls.length && !omitted) return null;
  const alike = new Map();
  const keyOf = (call) => `${path}/${call.model} ${call.status}`;
  for (const call of calls) alike.set(keyOf(call), alike.get(keyOf(call)) ?? []).get(keyOf(call)).push(call);
  const rows = calls.flatMap((call) => {
    const all = alike.get(keyOf(call));
    if (all.length <= MAX_ALIKE) return [callRow(call, open, path)];
    return call === all[0] ? [foldedRow(all, open, path, keyOf(call))] : [];
  });
  if (omitted) rows.push(make("li", { className: "help" }, plural(omitted, "more call")));
  return make("ul", { className: "calls" }, ...rows);
}

const callFacts = ({ model, status, id }) => [chipOf(status), " ", modelLink(model, id)];

function callRow(call, open, path) {
  const facts = [...callFacts(call), ` ${timeText(call.seconds)} `];
  if (call.id) facts.push(predictionLink(call));
  if (call.error) facts.push(make("span", { className: "call-error" }, call.error));
  return make("li", {}, ...facts, ...[callsOf(call, open, `${path}/${call.id ?? ""}`)].filter(Boolean));
}

// foldedRow is one line for many calls of a model in the same state, which unfolds.
function foldedRow(calls, open, path, key) {
  const [{ model, status }] = calls;
  const seconds = calls.map((call) => call.seconds);
  const words = ` ${plural(calls.length, "call")}, ${timeText(Math.min(...seconds))} to ${timeText(Math.max(...seconds))}`;
  const summary = make("summary", { "data-key": key }, chipOf(status), " ", make("strong", {}, model), words);
  const fold = make("details", { open: open.has(key) }, summary, make("ul", { className: "calls" }, ...calls.map((call) => callRow(call, open, path))));
  fold.addEventListener("toggle", () => open[fold.open ? "add" : "delete"](key));
  return make("li", {}, fold);
}

// modelLink is a model's name, which leads to its page if the server has such pages.
const modelLink = (model, key) => ($("docs")?.hidden ? make("strong", {}, model) : linkOf(model, "/docs", key, make("strong", {}, model)));

// predictionLink is the id of a call's prediction, which leads to it in the live view of its model, if this page has one beside it.
function predictionLink({ model, id }) {
  const hasView = location.pathname.endsWith("/dashboard") || $("live")?.getAttribute("href") === "dashboard";
  return hasView ? linkOf(model, "/dashboard#prediction=" + encodeURIComponent(id), "#" + id, make("code", {}, id)) : make("code", {}, id);
}

// linkOf returns a link to a model's page, or the text alone if this page's list of models does not have it.
function linkOf(model, page, key, text) {
  const link = [...document.querySelectorAll("#models a")].find((a) => a.textContent.trim() === model);
  if (!link) return text;
  return make("a", { href: link.href.replace(/\/(dashboard|docs)$/, page), target: "_blank", rel: "noreferrer", "data-key": key }, text);
}

// showCalls shows the tree in an element below its heading, which it hides if there is none. It leaves a tree alone that is
// as it was, so that what is selected stays selected; in another one what is unfolded and has the focus keeps both.
function showCalls(box, state) {
  const text = JSON.stringify([state.calls, state.calls_omitted]);
  if (box.shown === text) return;
  box.shown = text;
  box.unfolded ??= new Set();
  const focus = box.contains(document.activeElement) && document.activeElement.dataset.key;
  const tree = callsOf(state, box.unfolded, "");
  box.hidden = !tree;
  box.querySelector("ul")?.remove();
  if (!tree) return;
  box.append(tree);
  if (focus) [...box.querySelectorAll("[data-key]")].find((element) => element.dataset.key === focus)?.focus();
}
