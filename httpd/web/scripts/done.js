// The progress of something: what its model recorded, or read from its last line: progress bars of tqdm and others have "45%|".

const DONE = /(\d{1,3})(?:\.\d+)?\s?%\s?[|[▏▎▍▌▋▊▉█]/;

// lastLineOf returns the last line that is not empty. Of a line that is overwritten, as bars are, it returns the last text.
function lastLineOf(logs) {
  const end = withoutEscapes(logs.slice(-4000)).trimEnd();
  return end.slice(Math.max(end.lastIndexOf("\n"), end.lastIndexOf("\r")) + 1);
}

// doneOf returns the progress in percent, or undefined if the line has none.
function doneOf(line) {
  const found = DONE.exec(line);
  return found ? Math.min(100, Number(found[1])) : undefined;
}

// recordedDone returns the progress in percent that a model has recorded as its metric "progress", from 0 to 1, or undefined.
function recordedDone(metrics) {
  const share = metrics?.progress;
  return typeof share === "number" ? Math.round(100 * Math.min(1, Math.max(0, share))) : undefined;
}

// withoutEscapes returns a text without the colours, cursor movements and links of a terminal.
const withoutEscapes = (logs) => (logs.includes("\x1b") ? logs.replace(/\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))/g, "") : logs);

// written returns a text as a terminal shows it, without colours: "\r" returns to the start of the line.
function written(logs) {
  const text = withoutEscapes(logs);
  return text.includes("\r") ? text.split("\n").map((line) => line.split("\r").findLast(Boolean) ?? "").join("\n") : text;
}
