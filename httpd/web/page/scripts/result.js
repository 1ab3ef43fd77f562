// The result of a run: its state, output, error, logs, times, and the answer as JSON.

let copyable = ""; // the output as text
let answered = null; // the whole answer

const CUT = 2000, CUT_FILE = 100; // characters of a text, and of a file's data URL, that the answer as JSON shows

function clearResult() {
  showCalls($("calls"), {});
  for (const id of ["logs", "json"]) $(id).textContent = "";
  for (const id of ["nothing", "gallery", "doing", "logs-box", "metrics-box", "times", "copy-output", "zip"]) $(id).hidden = true;
  answered = null;
  for (const id of ["output", "failure", "metrics"]) $(id).replaceChildren();
  $("logs-box").open = true;
  releaseMedia();
}

// forgetResult clears the result, as before the first run.
function forgetResult() {
  clearResult();
  $("state").className = "";
  $("state").textContent = "";
  $("nothing").hidden = false;
}

function showResult({ result, seconds, asText }) {
  clearResult();
  $("state").replaceChildren(chipOf(result.status), seconds === null ? "" : ` in ${timeText(seconds)}`);
  $("announced").textContent = $("state").textContent;
  showOutput(result.output, asText);
  if (result.status === "succeeded" && result.output === null) $("output").append(make("p", { className: "help" }, "The output is null."));
  if (result.error) showFailure(result.error, result.logs ?? "");
  showLogs(result.logs ?? "");
  const json = JSON.stringify(result, cutText, 2);
  $("json").textContent = json.length > MAX_SHOWN ? json.slice(0, MAX_SHOWN) + "\n…" : json;
  answered = result;
  if (seconds !== null) showTimes(result, seconds);
  showCalls($("calls"), result);
  const { predict_time, ...metrics } = result.metrics ?? {};
  $("metrics").replaceChildren(...Object.entries(metrics).flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, JSON.stringify(v))]));
  $("metrics-box").hidden = !Object.keys(metrics).length;
  $("copy-output").hidden = result.output === undefined || result.output === null;
  $("zip").hidden = shownFiles.length < 2;
  copyable = textOf(result.output, asText);
}

function cutText(key, value) {
  if (typeof value !== "string") return value;
  const most = isDataURL(value) ? CUT_FILE : CUT;
  return value.length > most ? `${value.slice(0, most)}… (${plural(value.length, "character")})` : value;
}

function textOf(output, asText) {
  if (typeof output === "string") return output;
  return asText && Array.isArray(output) ? output.join("") : (JSON.stringify(output, null, 2) ?? "");
}

function showOutput(value, asText) {
  const to = $("output");
  if (value === undefined || value === null) to.replaceChildren();
  else if (asText && Array.isArray(value)) to.replaceChildren(textBox(value.join(""), "output"));
  else to.replaceChildren(view(value, "output"));
}

// appendOutput appends the items of a stream after its first `from` ones.
function appendOutput(chunks, from, asText) {
  if (from === 0) $("output").replaceChildren(make("div", { className: asText ? "text" : "items" }));
  const box = $("output").firstChild;
  if (asText) {
    const text = chunks.slice(from).join("").slice(0, Math.max(0, MAX_SHOWN - (box.shown ?? 0)));
    box.shown = (box.shown ?? 0) + text.length;
    box.append(text);
  } else box.append(...chunks.slice(from).map((chunk, i) => view(chunk, `output-${from + i + 1}`)));
}

// showFailure shows an error, and the traceback in the logs that belongs to it.
function showFailure(error, logs) {
  const traceback = tracebackOf(logs);
  $("failure").replaceChildren(make("p", { className: "message" }, error.length > MAX_TEXT ? error.slice(0, MAX_TEXT) + "…" : error));
  $("logs-box").open = !traceback;
  if (traceback) $("failure").append(make("pre", { className: "traceback", tabIndex: 0 }, traceback));
}

const TRACEBACK = /^[ +|]*(?:Exception Group )?Traceback \(most recent call last\):/gm;
const CHAINED = /(?:direct cause of the following exception|another exception occurred):\s*$/;

// tracebackOf returns the last traceback in the logs, with those of its causes.
function tracebackOf(text) {
  const logs = withoutEscapes(text);
  const starts = [...logs.matchAll(TRACEBACK)].map((match) => match.index);
  let first = starts.length - 1;
  while (first > 0 && CHAINED.test(logs.slice(starts[first - 1], starts[first]))) first--;
  return first < 0 ? "" : logs.slice(starts[first]).trimEnd();
}

function showLogs(logs) {
  $("logs").textContent = written(logs);
  $("logs-box").hidden = !logs;
}

// showTimes shows the parts of the run's time, measured from the browser's request, so network time is included.
function showTimes(result, seconds) {
  const model = result.metrics?.predict_time;
  $("times").hidden = model === undefined;
  if (model === undefined) return;
  const queue = Math.max(0, (Date.parse(result.started_at) - Date.parse(result.created_at)) / 1000 || 0);
  const parts = [["amber", "Queue", queue], ["blue", "Model", model], ["grey", "Network and server", Math.max(0, seconds - model - queue)]];
  $("times").replaceChildren(barOf(parts.map(([color, , time]) => [color, time])), legendOf(parts.map(([color, word, time]) => [color, word, timeText(time)])));
}

// showDone shows a progress bar if the model has recorded its progress, or the last line of the logs has one.
function showDone(logs, metrics) {
  const line = lastLineOf(logs), recorded = recordedDone(metrics), done = recorded ?? doneOf(line);
  $("doing").hidden = done === undefined;
  if (done === undefined) return;
  $("share-done").value = done;
  const text = recorded === undefined ? line : `${recorded} %`;
  $("doing-text").textContent = text.length > 120 ? text.slice(0, 120) + "…" : text;
}

// revealResult scrolls to the result if it is out of view, or, below the form on a phone, mostly out of view.
function revealResult() {
  const box = $("side").querySelector(".head").getBoundingClientRect();
  $("result").scrollTop = 0;
  if (shownTab() === "chat") return;
  const narrow = matchMedia("(max-width: 56rem)").matches;
  if (box.top >= 0 && box.bottom <= innerHeight / (narrow ? 3 : 1)) return;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  $("side").scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" });
}
