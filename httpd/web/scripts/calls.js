// The predictions of other models that a prediction asked for, as a tree.

const CALL_LOOKS = { succeeded: "good", failed: "bad", refused: "bad", canceled: "busy", processing: "blue" };

// callsOf is the tree of {calls, calls_omitted}; null: there are none.
function callsOf({ calls = [], calls_omitted: omitted = 0 }) {
  if (!calls.length && !omitted) return null;
  const row = (call) => {
    const facts = [make("span", { className: `chip ${CALL_LOOKS[call.status] ?? ""}` }, call.status), " ", make("strong", {}, call.model), ` ${timeText(call.seconds)} `];
    if (call.id) facts.push(make("code", {}, call.id));
    if (call.error) facts.push(make("span", { className: "call-error" }, call.error));
    return make("li", {}, ...facts, ...[callsOf(call)].filter(Boolean));
  };
  const more = omitted ? [make("li", { className: "help" }, `${plural(omitted, "more call")}`)] : [];
  return make("ul", { className: "calls" }, ...calls.map(row), ...more);
}

// showCalls shows the tree in an element below its heading, which it hides where there is none. It leaves a tree alone that is
// as it was, so that what is selected stays selected.
function showCalls(box, state) {
  const text = JSON.stringify([state.calls, state.calls_omitted]);
  if (box.shown === text) return;
  box.shown = text;
  const tree = callsOf(state);
  box.hidden = !tree;
  box.querySelector("ul")?.remove();
  if (tree) box.append(tree);
}
