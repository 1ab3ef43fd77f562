// The state of the server, at the top of each page.

// STATES are the words and looks of the server's states: those of /health-check, and two more.
const STATES = {
  READY: ["Ready", "good"], BUSY: ["Busy", "blue"], STARTING: ["Starting", "busy"], SETUP_FAILED: ["Setup failed", "bad"],
  DEFUNCT: ["Defunct", "bad"], UNHEALTHY: ["Unhealthy", "bad"],
  UNLOADED: ["Not loaded", "none"],
  STOPPING: ["Stopping", "busy"], UNREACHABLE: ["Not reachable", "bad"],
};

// LOOKS are those of predictions and workers; other states have none.
const LOOKS = {
  succeeded: "good", failed: "bad", refused: "bad", canceled: "busy", processing: "blue",
  ready: "good", starting: "busy", setup: "busy", draining: "busy", gone: "bad",
};

const chipOf = (state, text = state) => make("span", { className: `chip ${LOOKS[state] ?? ""}` }, text);

function showServer(state, text) {
  const [word, look] = STATES[state] ?? [state, "bad"];
  $("status").className = `pill ${look}`;
  $("status").querySelector(".dot").className = `dot ${look}`;
  $("status-word").textContent = word;
  $("status-text").textContent = text;
}

// showFeed shows whether the figures of a live view are current.
function showFeed(look, text) {
  $("feed").querySelector(".dot").className = `dot ${look}`;
  $("feed-text").textContent = text;
}

// showCurrentModel scrolls the list of models to this page's.
const showCurrentModel = () => document.querySelector("#models [aria-current]")?.scrollIntoView({ block: "nearest" });

// problemBox returns the element that describes a problem.
const problemBox = ({ look, title, text }) => make("div", { className: `problem ${look}` }, make("p", {}, make("strong", {}, title), " ", text));
