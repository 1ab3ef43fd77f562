// Numbers, times and states in words.

const NONE = "–";

function rateText(perSecond) {
  if (perSecond === null || perSecond === undefined) return NONE;
  if (perSecond === 0) return "0";
  if (perSecond < 0.095) return perSecond.toFixed(2);
  return perSecond < 9.95 ? perSecond.toFixed(1) : groups(Math.round(perSecond));
}

// groups parts the thousands of a whole number.
const groups = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");

// timeText writes seconds in a unit that fits, with three digits.
function timeText(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds < 1e-6) return "0 ms";
  if (seconds < 1e-3) return `${digits(seconds * 1e6)} µs`;
  if (seconds < 1) return `${digits(seconds * 1e3)} ms`;
  if (seconds < 120) return `${digits(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min` : `${Math.floor(seconds / 86400)} days`;
}

function digits(number) {
  if (number >= 99.5) return String(Math.round(number));
  return number >= 9.95 ? number.toFixed(1).replace(/\.0$/, "") : number.toFixed(2).replace(/\.?0+$/, "");
}

function bytesText(bytes) {
  if (!bytes) return NONE;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (bytes < 1000) return `${digits(bytes)} ${unit}`;
    bytes /= 1024;
  }
  return `${digits(bytes)} TiB`;
}

const shareText = (part) => (part > 0 && part < 0.001 ? "< 0.1 %" : `${digits(part * 100)} %`);

// ago says how long before now a moment was, both in milliseconds.
function agoText(then, now) {
  const seconds = Math.max(0, (now - then) / 1000);
  return seconds < 1 ? "now" : `${timeText(Math.floor(seconds))} ago`;
}

const clockText = (milliseconds) => new Date(milliseconds).toLocaleTimeString([], { hour12: false });

const plural = (number, word) => `${groups(number)} ${word}${number === 1 ? "" : "s"}`;

// STATES are the words and looks of the server's states, those of /health-check.
const STATES = {
  READY: ["Ready", "good"], BUSY: ["Busy", "blue"], STARTING: ["Starting", "busy"], SETUP_FAILED: ["Setup failed", "bad"],
  DEFUNCT: ["Defunct", "bad"], UNHEALTHY: ["Unhealthy", "bad"],
};

// LOOKS are those of workers and predictions.
const LOOKS = {
  ready: "good", starting: "busy", setup: "busy", draining: "busy", gone: "bad",
  succeeded: "good", failed: "bad", canceled: "busy", processing: "blue", waiting: "",
};

const REASONS = {
  model: "the model raised an exception", validation: "the input was wrong", files: "files could not be transferred",
  crash: "the worker died", timeout: "a time limit", memory: "no room in the memory budget", capacity: "no slot or place in the queue was free",
  unavailable: "no worker was ready",
};

// PARTS are the parts of a prediction's time, in their order.
const PARTS = [["queue", "Queue", "amber"], ["files", "Files", "teal"], ["predict", "Model", "blue"], ["overhead", "Server", "grey"]];

// set writes a text where it is another one.
const set = (element, text) => element.textContent !== text && (element.textContent = text);
