// How far something is, by its last line: progress bars of tqdm and others have "45%|".

const DONE = /(\d{1,3})(?:\.\d+)?\s?%\s?[|[▏▎▍▌▋▊▉█]/;

// lastLineOf is the last line that says something; a line that is written over, as bars are, counts as its last writing.
function lastLineOf(logs) {
  const end = withoutEscapes(logs.slice(-4000)).trimEnd();
  return end.slice(Math.max(end.lastIndexOf("\n"), end.lastIndexOf("\r")) + 1);
}

// doneOf is the share that is done, in percent; undefined means the line has none.
function doneOf(line) {
  const found = DONE.exec(line);
  return found ? Math.min(100, Number(found[1])) : undefined;
}

// withoutEscapes is a text without the colours, cursor movements and links of a terminal.
const withoutEscapes = (logs) => (logs.includes("\x1b") ? logs.replace(/\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))/g, "") : logs);

// written is a text as a terminal shows it, without colours: "\r" goes back to the line's begin.
function written(logs) {
  const text = withoutEscapes(logs);
  return text.includes("\r") ? text.replace(/[^\n]*\r(?=[^\r\n])/g, "").replaceAll("\r", "") : text;
}
